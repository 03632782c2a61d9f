"""``python -m cassandra.doctor HOST...`` says whether a cluster can be used from here, how well.

`cassandra.doctor.cli` is the command, `cassandra.doctor.network` looks before there is a session,
`cassandra.doctor.checks` asks the cluster.
"""

from cassandra._foreign import check_files

check_files()
