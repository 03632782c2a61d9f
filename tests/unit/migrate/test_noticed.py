"""Code whose expressions together look like a difference between the drivers, but are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.migrate.programs import checked

QUIET = {
    "a callback that starts a request": (
        ".def f(rows):\n    session.execute_async('b')\nsession.execute_async('a').add_callback(f)"
    ),
    "a callback that hands work on": (
        ".def f(rows):\n    def later():\n        session.execute('b')\n    pool.submit(later)\n"
        "session.execute_async('a').add_callback(f)"
    ),
    "a callback of another future": (
        ".def f(rows):\n    session.execute('b')\npool.submit(g).add_callback(f)"
    ),
    "a cursor in a callback": (
        ".def f(rows):\n    sqlite.execute('b')\nsession.execute_async('a').add_callback(f)"
    ),
    "a future that has its result": (
        ".future = session.execute_async('a')\nfuture.add_callback(lambda rows: future.result())"
    ),
    "a callback in a greenlet": (
        ".import gevent\nsession.execute_async('a').add_callback(lambda rows: session.execute('b'))"
    ),
    "a mapping of the program": ".tables = dict(cluster.metadata.keyspaces)\ntables.pop('a')",
    "a table of the program": (
        "from cassandra.metadata import TableMetadata\nTableMetadata('a', 'b').columns['c'] = 1"
    ),
    "objects of a loop, and mappings of the program": (
        ".for name in cluster.metadata.keyspaces:\n    name.tables.clear()\n"
        "for name, mine in {}.items():\n    mine.tables.clear()\n"
        "for ks in cluster.metadata.keyspaces.values():\n    dict(ks.tables).clear()\n"
        "def list(x): ...\nfor one in list(cluster.metadata.keyspaces.values()):\n"
        "    one.tables.clear()"
    ),
    "columns that are sets, by another name": (
        "from cassandra.cqlengine import columns as c\nfrom cassandra.cqlengine.models import Model\n"  # noqa: E501
        "class A(Model):\n    x: set = c.Set(c.Text)\n"
        "A.objects.update(**{'x__remove': ['a'], 'y__remove': 1})"
    ),
    "reading a mapping": ".cluster.metadata.keyspaces['a'].tables.get('b')",
    "null for a column": ".insert = session.prepare('a')\nsession.execute(insert, [1, None])",
    "a null field of a tuple": ".insert = session.prepare('a')\nsession.execute(insert, [(1, None)])",  # noqa: E501
    "null in a text": ".session.execute('a', ([1, None],))",
    "null in a list": ".insert = session.prepare('a')\nsession.execute(insert, (1, [2, None]))",
    "a handler for all that a value can be": (
        ".import struct\ntry:\n    session.execute('a')\nexcept struct.error:\n    pass\n"
        "except TypeError:\n    pass"
    ),
    "a handler around other work": (
        ".import struct\ntry:\n    unpack('a')\nexcept struct.error:\n    pass"
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", QUIET.values(), ids=QUIET)
def test_no_finding_for(text: str, tmp_path: Path) -> None:
    """These texts are checked without a finding."""
    report = checked(tmp_path, text)
    assert [finding.code for finding in report.findings] == []
    assert not report.unread
