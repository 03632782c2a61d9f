"""Names of DataStax Enterprise's Insights: they can be imported, and refuse use."""
