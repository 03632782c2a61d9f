"""``python -m cassandra.migrate check``: finds differences for code that comes from another driver.

The check reads the source of an application and never runs it. `table` lists the differences, which
``docs/upgrading.rst`` shows, too. The driver itself imports nothing from this package.
"""

from __future__ import annotations

from cassandra._foreign import check_files

check_files()
