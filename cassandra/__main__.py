"""``python -m cassandra``: lists the commands of the package."""

from __future__ import annotations

import sys

from cassandra._version import __version__

COMMANDS = f"""\
turbocql {__version__}: a driver for Apache Cassandra and ScyllaDB. Its commands are:

  python -m cassandra.bulk      load files into tables, unload, copy and count tables
  python -m cassandra.doctor    connect to a cluster, and say what is wrong with it
  python -m cassandra.migrate   list what differs for a program of cassandra-driver
  python -m cassandra.testing   run Cassandra nodes on this machine, for tests

Each of them explains itself with -h."""


def main(words: list[str]) -> int:
    """List the commands.

    :param words: the words of the command line.
    :returns: the exit code: 2 if there are words, because the command that they are for is not
        executed.
    """
    if not words or words[0] in ("-h", "--help"):
        print(COMMANDS)
        return 0
    command = f"cassandra.{words[0]}"
    advice = f": write python -m {command}" if f"-m {command} " in COMMANDS else ""
    print(f"python -m cassandra executes no command{advice}\n\n{COMMANDS}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
