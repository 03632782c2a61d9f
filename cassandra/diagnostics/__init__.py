"""The state of a cluster as the driver sees it; ``python -m cassandra.doctor`` asks the cluster."""

from cassandra._foreign import check_files

check_files()
