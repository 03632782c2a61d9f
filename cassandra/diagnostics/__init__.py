"""How a cluster is, as the driver sees it; ``python -m cassandra.doctor`` asks the cluster."""

from cassandra._foreign import check_files

check_files()
