"""Names of features of DataStax Enterprise, for applications that import them without using them.

You can import the names and create objects. Graphs, continuous paging and Insights are not
supported: using them raises NotImplementedError.
"""
