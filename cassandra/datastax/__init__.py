"""Names of DataStax Enterprise's own features, for programs that import them in passing.

They can be imported and constructed. Graphs, continuous paging and Insights are not spoken here:
use of them raises NotImplementedError, which says so.
"""
