"""``python -m cassandra.migrate check``: the differences for a program that comes from another
driver.

It reads a program's source and never runs it. `table` has the differences, which
``docs/upgrading.rst`` shows too. The driver imports nothing of this package.
"""

from __future__ import annotations

from cassandra._foreign import check_files

check_files()
