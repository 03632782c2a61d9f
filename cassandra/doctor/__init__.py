"""``python -m cassandra.doctor HOST...`` checks if this machine can use a cluster, and how well.

`cassandra.doctor.cli` is the command. `cassandra.doctor.network` checks the network before there is
a session. `cassandra.doctor.checks` queries the cluster through a session.
"""

from cassandra._foreign import check_files

check_files()
