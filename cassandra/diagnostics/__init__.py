"""`Cluster.report`: the state of a cluster, as the driver sees it without asking the servers.

``python -m cassandra.doctor`` queries the cluster instead.
"""

from cassandra._foreign import check_files

check_files()
