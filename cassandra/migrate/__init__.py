"""``python -m cassandra.migrate check``: lists what differs for code written for other drivers.

The check reads the source of an application that was written for cassandra-driver or scylla-driver.
The application is never run. The modules cooperate as follows:

* `files` finds the files and parses them.
* `reader` walks through the syntax tree of a file and collects facts (`facts`): names, calls,
  attributes and strings that have to do with the driver. `scopes` finds out which names refer to
  objects of the driver. `noticed` and `forks` find facts that no single expression shows, such as
  a callback that blocks.
* `table` lists the differences between the drivers (`entries`). Each difference has matchers
  (`matchers`), which decide if a fact shows the difference.
* `check` compares all facts with the table, and `cli` prints the findings.

``docs/upgrading.rst`` shows the same table. The driver itself imports nothing from this package.
"""

from __future__ import annotations

from cassandra._foreign import check_files

check_files()
