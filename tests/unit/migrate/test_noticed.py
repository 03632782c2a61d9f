"""Test code that resembles a difference between the drivers, and code that is a difference."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from cassandra.migrate import noticed
from tests.unit.migrate.programs import checked

# Programs without a finding, by a description.
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
    """`check` has no finding for a program in `QUIET`."""
    report = checked(tmp_path, text)
    assert [finding.code for finding in report.findings] == []
    assert not report.unread


EXECUTE = "    session.execute('a', (1,))\n"
# Programs and the codes of their findings, by a description.
FOUND = {
    "a handler of struct.error for bound values": (
        ".import struct\ninsert = session.prepare('a')\ntry:\n    insert.bind((1,))\n"
        "except struct.error:\n    pass",
        ["except struct.error"],
    ),
    "a handler of struct.error beside one for another error": (
        f".import struct\ntry:\n{EXECUTE}except struct.error:\n    pass\n"
        "except (KeyError, OSError):\n    pass",
        ["except struct.error"],
    ),
    "a handler of struct.error behind one of everything": (
        f".import struct\ntry:\n{EXECUTE}except struct.error:\n    pass\nexcept:\n    pass",
        [],
    ),
    "a handler of struct.error beside several that include ValueError": (
        f".import struct\ntry:\n{EXECUTE}except struct.error:\n    pass\n"
        "except (KeyError, ValueError):\n    pass",
        [],
    ),
    "items of a mapping that are set and deleted": (
        ".tables = cluster.metadata.keyspaces['a'].tables\ntables['b'] = 1\ndel tables['b']",
        ["tables['b'] = ...", "del tables['b']"],
    ),
    "methods that change a mapping": (
        ".tables = cluster.metadata.keyspaces['a'].tables\ntables.pop('b')\ntables.clear()\n"
        "tables.update(b=1)\ntables.setdefault('b')\ntables.popitem()\ntables.copy()",
        ["tables.pop()", "tables.clear()", "tables.update()", "tables.setdefault()", "tables.popitem()"],  # noqa: E501
    ),
    "a callback that waits": (
        ".def f(rows):\n    session.execute('b')\n"
        "session.execute_async('a').add_callbacks(callback=f, errback=print)",
        ["add_callbacks(f): session.execute()"],
    ),
    "an errback that waits for a request that it starts": (
        ".def f(error):\n    session.execute_async('b').result()\n"
        "session.execute_async('a').add_errback(f)",
        ["add_errback(f): session.execute_async('b').result()"],
    ),
    "a callback that waits for a future of its own": (
        ".def f(rows):\n    later = session.execute_async('b')\n    later.result()\n"
        "session.execute_async('a').add_callback(f)",
        ["add_callback(f): later.result()"],
    ),
    "eventlet that patches modules": (
        ".import eventlet\neventlet.monkey_patch()",
        ["eventlet.monkey_patch()"],
    ),
    "elements of a list that are removed": (
        "from cassandra.cqlengine import columns as c\nfrom cassandra.cqlengine.models import Model\n"  # noqa: E501
        "class A(Model):\n    x = c.List(c.Text)\nA.objects.update(x__remove=['a'])",
        ["update(x__remove=...)"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "codes"), FOUND.values(), ids=FOUND)
def test_findings_of(text: str, codes: list[str], tmp_path: Path) -> None:
    """`check` has the expected findings for a program in `FOUND`, in the order of their lines."""
    report = checked(tmp_path, text)
    assert [finding.code for finding in report.findings] == codes


@pytest.mark.parametrize(
    ("handler", "names"),
    [
        ("except A: pass", ["A"]),
        ("except a.b.C: pass", ["C"]),
        ("except (A, b.C): pass", ["A", "C"]),
        ("except: pass", ["BaseException"]),
        ("except A: raise", []),
        ("except A: log(); raise B", []),
        ("except A: sys.exit(1)", []),
        ("except A: exit()", []),
        ("except A: raise_later()", ["A"]),
    ],
)
def test_errors_that_a_handler_recovers_from(handler: str, names: list[str]) -> None:
    (statement,) = ast.parse(f"try:\n    pass\n{handler}").body
    assert isinstance(statement, ast.Try)
    assert noticed.handled(statement.handlers[0]) == names


@pytest.mark.parametrize(
    ("constructor", "names"),
    [
        ("def __init__(self, **rest): super().__init__(**rest)", ["a", "b"]),
        ("def __new__(cls, **rest): return super().__new__(cls, **rest)", ["a", "b"]),
        ("def __init__(self, a=1, **rest): super().__init__(a, **rest)", ["b"]),
        ("def __init__(self, *, a=1, **rest): super().__init__(**rest)", ["b"]),
        ("def __init__(self, **rest): super().__init__(b=2, **rest)", ["a"]),
        # We cannot know which arguments these constructors pass on.
        ("def __init__(self, a, b): super().__init__(a=a)", None),
        ("def __init__(self, **rest): rest.pop('a'); super().__init__(**rest)", None),
        ("def __init__(self, **rest): super().__init__(**rest); super().__init__(**rest)", None),
        ("def __init__(self, **rest): super().__init__()", None),
        ("def __init__(self, **rest): other(**rest)", None),
        ("__init__ = other", None),
    ],
)
def test_arguments_that_a_constructor_passes_on(constructor: str, names: list[str] | None) -> None:
    (statement,) = ast.parse(constructor).body
    arguments: dict[str, ast.expr] = {"a": ast.Constant(1), "b": ast.Constant(2)}
    passed = noticed.forwarded_arguments(statement, arguments)
    assert (None if passed is None else list(passed)) == names
