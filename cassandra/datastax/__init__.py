"""Names of DataStax Enterprise's own features, for programs that import them in passing.

They can be imported and constructed. Graphs, continuous paging and Insights are not supported:
using them raises NotImplementedError.
"""
