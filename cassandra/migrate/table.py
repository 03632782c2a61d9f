"""The table of differences between the drivers.

The check, ``docs/upgrading.rst`` and ``tox -e differential`` use this table.
"""

from __future__ import annotations

from cassandra.migrate.entries import Difference
from cassandra.migrate.table_driver import DRIVER
from cassandra.migrate.table_mapper import MAPPER
from cassandra.migrate.table_source import SOURCE
from cassandra.migrate.table_values import VALUES

DIFFERENCES: list[Difference] = [*SOURCE, *VALUES, *MAPPER, *DRIVER]
BY_KEY = {difference.key: difference for difference in DIFFERENCES}
