"""``python -m cassandra.migrate check``: finds what differs for code that used another driver.

The check reads the source of an application written for cassandra-driver or scylla-driver, and
never runs it. How the modules cooperate:

* `files` finds the files and parses them.
* `reader` walks through the syntax tree of a file and collects facts (`facts`): names, calls,
  attributes and strings that have to do with the driver. `scopes` finds out which names are objects
  of the driver. `noticed` and `forks` find facts that several expressions together show.
* `table` lists the differences between the drivers (`entries`). Each has matchers (`matchers`),
  which decide if a fact shows the difference.
* `check` compares all facts with the table, and `cli` prints the findings.

``docs/upgrading.rst`` shows the table, too. The driver itself imports nothing from this package.
"""

from __future__ import annotations

from cassandra._foreign import check_files

check_files()
