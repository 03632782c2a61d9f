"""The state of a cluster as the driver sees it. ``python -m cassandra.doctor`` queries the cluster
instead.
"""

from cassandra._foreign import check_files

check_files()
