"""Names of features of DataStax Enterprise, for applications that import them without using them.

You can import the names and create objects. This driver does not support graphs, continuous paging
and Insights: using them raises NotImplementedError.
"""
