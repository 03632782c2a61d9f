"""The settings of a cluster.

The class `ClusterSettings` in `cassandra.client.settings.table` describes each setting once. The
constructor, the attributes, the checks and the documentation are derived from this table.
"""
