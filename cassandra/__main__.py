"""``python -m cassandra``: lists the commands of the package."""

from __future__ import annotations

from cassandra._version import __version__

COMMANDS = f"""\
turbocql {__version__}: a driver for Apache Cassandra and ScyllaDB. Its commands are:

  python -m cassandra.bulk      load files into tables, unload, copy and count tables
  python -m cassandra.doctor    connect to a cluster, and say what is wrong with it
  python -m cassandra.migrate   list what differs for a program of cassandra-driver
  python -m cassandra.testing   run Cassandra nodes on this machine, for tests

Each of them explains itself with -h."""

if __name__ == "__main__":
    print(COMMANDS)
