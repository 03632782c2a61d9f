"""Names of DataStax Enterprise's Insights, to which this driver does not report."""
