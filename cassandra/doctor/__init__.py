"""``python -m cassandra.doctor HOST...`` checks if, and how well, a cluster can be used from here.

`cassandra.doctor.cli` is the command, `cassandra.doctor.network` checks the network before there is
a session, and `cassandra.doctor.checks` queries the cluster.
"""

from cassandra._foreign import check_files

check_files()
