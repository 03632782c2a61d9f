"""`Cluster.report`: the state of a cluster, as far as the driver knows it without asking servers.

In contrast, ``python -m cassandra.doctor`` sends queries to the cluster.
"""

from cassandra._foreign import check_files

check_files()
