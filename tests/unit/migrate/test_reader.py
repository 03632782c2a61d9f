"""Test the reader of syntax trees, which collects facts about a program.

The facts include a program's imports, the ``try`` statements that guard them, and strings.
"""

from __future__ import annotations

import ast
from typing import Any

import pytest

from cassandra.migrate.facts import (
    Attribute,
    Call,
    ClassAttribute,
    Derived,
    Module,
    Name,
    Program,
    Stored,
    Text,
)
from cassandra.migrate.reader import read, survey

CLUSTER = "cassandra.cluster.Cluster"
IMPORT = "from cassandra.cluster import Cluster\n"


def names_in(text: str) -> list[tuple[str, bool]]:
    """Return each name of the driver in a program, and whether the name is guarded."""
    facts = [fact for fact in read(ast.parse(text)) if isinstance(fact, Name)]
    return [(fact.name, fact.is_guarded) for fact in facts]


def test_a_star_names_the_module() -> None:
    assert names_in("from cassandra.query import *") == [("cassandra.query", False)]


def test_imports_of_the_program_itself_are_not_the_drivers() -> None:
    assert (
        names_in("from .cassandra import x\nfrom . import cassandra\nimport mine.cassandra") == []
    )


def test_imports_are_guarded_by_handlers_of_import_errors() -> None:
    """An import is guarded if a handler of ImportError lets the program run without the module."""
    try_and_except = "try:\n    import cassandra.nothing\nexcept "
    one_guarded_name = [("cassandra.nothing", True)]
    one_unguarded_name = [("cassandra.nothing", False)]
    assert names_in(try_and_except + "ImportError:\n    x = None") == one_guarded_name
    assert names_in(try_and_except + "(KeyError, ImportError):\n    x = None") == one_guarded_name
    assert names_in(try_and_except.removesuffix(" ") + ":\n    x = None") == one_guarded_name
    assert names_in(try_and_except + "KeyError:\n    x = None") == one_unguarded_name
    # A handler that raises or exits does not make the failed import harmless, so the name is not
    # guarded.
    assert names_in(try_and_except + "ImportError as e:\n    raise E from e") == one_unguarded_name
    assert names_in(try_and_except + "ImportError:\n    sys.exit(1)") == one_unguarded_name
    import_in_suppress = "with suppress(ImportError):\n    import cassandra.nothing"
    assert names_in(f"from contextlib import suppress\n{import_in_suppress}") == one_guarded_name
    # Imports inside a handler are not guarded. Neither are imports in a function that is only
    # defined inside ``try``.
    assert (
        names_in("try:\n    x\nexcept ImportError:\n    import cassandra.nothing")
        == one_unguarded_name
    )
    import_in_function = (
        "try:\n    def f():\n        import cassandra.nothing\nexcept ImportError:\n    x = 1"
    )
    assert names_in(import_in_function) == one_unguarded_name


def test_strings_have_the_call_that_gets_them_and_docstrings_are_skipped() -> None:
    tree = ast.parse("'a'\ndef f():\n    'b'\nf('c', x='d')\ng(x=['e'])\ny = 'f'")
    texts = [(fact.value, fact.callee) for fact in read(tree) if isinstance(fact, Text)]
    assert texts == [("c", "f"), ("d", "f:x"), ("e", "g:x"), ("f", "")]


def test_unpacked_arguments_are_ignored() -> None:
    tree = ast.parse("from cassandra.cluster import Cluster\nCluster(*a, nothing=1, **b)")
    (call,) = (fact for fact in read(tree) if isinstance(fact, Call))
    assert (call.callee, call.unknown) == ("cassandra.cluster.Cluster", ["nothing"])


def test_a_survey_collects_the_facts_of_a_program() -> None:
    """`survey` collects a program's imports, attributes, definitions and columns."""
    program = Program()
    survey(
        ast.parse(
            "import os.path\nfrom cassandra.cqlengine import columns as c\nx.mine = 1\n"
            "setattr(x, 'other', 2)\ndef f(): ...\n"
            "class M:\n    a = c.List(c.Text)\n    b = c.Set(c.Text)\n    d: int = 1"
        ),
        program,
    )
    assert program.imports == {"os", "cassandra"}
    assert program.stored == {"mine", "other", "a", "b", "d"}
    assert program.defined == {"f", "M"}
    assert (program.lists, program.other_columns) == ({"a"}, {"b"})


def facts_in(text: str, kind: type[Any]) -> list[Any]:
    """Return the facts of the class `kind` that `read` finds in a program.

    :param text: the program, without an import of `Cluster`, which is added.
    """
    return [fact for fact in read(ast.parse(IMPORT + text)) if isinstance(fact, kind)]


# -- imports ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import cassandra.cluster", [("cassandra.cluster", True)]),
        ("from cassandra.cluster import Cluster", [("cassandra.cluster.Cluster", True)]),
        ("from cassandra.cluster import Nothing", [("cassandra.cluster.Nothing", False)]),
        # If the module does not exist, it is reported once. The names that are imported from it are
        # not reported.
        ("from cassandra.nothing import a, b", [("cassandra.nothing", False)]),
    ],
)
def test_imports_of_the_driver_are_looked_up(text: str, expected: list[Any]) -> None:
    facts = [fact for fact in read(ast.parse(text)) if isinstance(fact, Name)]
    assert [(fact.name, fact.is_there) for fact in facts] == expected
    assert all(fact.is_import for fact in facts)


def test_other_modules_are_noted_with_their_guards() -> None:
    text = (
        "import os.path\nfrom json import loads\n"
        "try:\n    import yaml\nexcept ImportError:\n    pass"
    )
    modules = [(fact.name, fact.is_guarded) for fact in facts_in(text, Module)]
    assert modules == [("os.path", False), ("json.loads", False), ("yaml", True)]


@pytest.mark.parametrize(
    ("begin", "guarded"),
    [
        ("if TYPE_CHECKING:", True),
        ("if typing.TYPE_CHECKING:", True),
        ("if hasattr(x, 'y'):", True),
        ("if x:", False),
        ("with pytest.raises(ImportError):", True),
        ("with pytest.raises(KeyError):", False),
        ("with open(ImportError):", False),
        ("with suppress(KeyError, ImportError):", True),
    ],
)
def test_what_guards_an_import(begin: str, guarded: bool) -> None:
    """An import is guarded if a failure is expected there, or if only type checkers see it."""
    assert names_in(f"{begin}\n    import cassandra.nothing") == [("cassandra.nothing", guarded)]


def test_the_other_branch_is_not_guarded() -> None:
    text = "if TYPE_CHECKING:\n    pass\nelse:\n    import cassandra.nothing"
    assert names_in(text) == [("cassandra.nothing", False)]
    after = "with suppress(ImportError):\n    pass\nimport cassandra.nothing"
    assert names_in(after) == [("cassandra.nothing", False)]
    final = "try:\n    x\nexcept ImportError:\n    x = 1\n{}:\n    import cassandra.nothing"
    for part in ("else", "finally"):
        assert names_in(final.format(part)) == [("cassandra.nothing", False)]


# -- attributes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "is_there"),
    [
        ("Cluster.connect", f"{CLUSTER}.connect", True),
        ("Cluster.nothing", f"{CLUSTER}.nothing", False),
        ("import cassandra.query as q\nq.nothing", "cassandra.query.nothing", False),
    ],
)
def test_attributes_of_classes_and_modules_are_names(text: str, name: str, is_there: bool) -> None:
    fact = facts_in(text, Name)[-1]
    assert fact.name == name
    assert fact.is_there == is_there
    assert fact.is_import is False


@pytest.mark.parametrize(
    ("text", "name", "is_there", "is_own", "is_guarded"),
    [
        ("c = Cluster()\nc.connect", "connect", True, False, False),
        ("c = Cluster()\nc.nothing", "nothing", False, False, False),
        (
            "c = Cluster()\ntry:\n    c.nothing\nexcept AttributeError:\n    x = 1",
            "nothing",
            False,
            False,
            True,
        ),
        (
            "c = Cluster()\nif hasattr(c, 'nothing'):\n    c.nothing",
            "nothing",
            False,
            False,
            True,
        ),
        (
            "c = Cluster()\nx = c.nothing if hasattr(c, 'nothing') else 1",
            "nothing",
            False,
            False,
            True,
        ),
        (
            "c = Cluster()\ntry:\n    c.nothing\nexcept ImportError:\n    x = 1",
            "nothing",
            False,
            False,
            False,
        ),
        (
            "class Own(Cluster):\n    def f(self):\n        self.connect",
            "connect",
            True,
            True,
            False,
        ),
    ],
)
def test_attributes_of_the_drivers_objects_are_looked_up(
    text: str, name: str, is_there: bool, is_own: bool, is_guarded: bool
) -> None:
    fact = next(fact for fact in facts_in(text, Attribute) if fact.name == name)
    assert fact.owner == CLUSTER
    assert fact.is_there is is_there
    assert fact.is_own is is_own
    assert fact.is_guarded is is_guarded


def test_a_classs_own_attributes_are_not_the_drivers() -> None:
    text = "class Own(Cluster):\n    mine = 1\n    def f(self):\n        self.mine"
    assert facts_in(text, Attribute) == []
    unknown = "class Own(Cluster, Other):\n    def f(self):\n        self.nothing"
    assert facts_in(unknown, Attribute) == []


# -- classes and assignments -----------------------------------------------------------------------


def test_derived_classes_have_their_bases_and_attributes() -> None:
    text = "class Own(Cluster):\n    'doc'\n    a = b = 1\n    c: int = 2\n    def f(self): ..."
    (derived,) = facts_in(text, Derived)
    assert derived.base == CLUSTER
    attributes = [(fact.bases, fact.name) for fact in facts_in(text, ClassAttribute)]
    assert attributes == [([CLUSTER], name) for name in "abc"]
    assert facts_in("class Plain:\n    a = 1", ClassAttribute) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("c.port = 5", [("port", 5)]),
        ("c.port: int = 5", [("port", 5)]),
        ("c.port: int", []),
        ("(c.port, c.x) = (5, 6)", [("port", 5), ("x", 6)]),
        ("(c.port, c.x) = f()", [("port", None), ("x", None)]),
        ("(c.port, c.x) = (1, *y, 2)", [("port", None), ("x", None)]),
        ("setattr(c, 'port', 5)", [("port", 5)]),
        ("setattr(c, name, 5)", []),
        ("FIVE = 5\nc.port = FIVE", [("port", 5)]),
        ("other.port = 5", []),
    ],
)
def test_assigned_attributes_have_their_values(text: str, expected: list[Any]) -> None:
    stored = facts_in(f"c = Cluster()\n{text}", Stored)
    assert [
        (fact.name, fact.value.value if isinstance(fact.value, ast.Constant) else None)
        for fact in stored
    ] == expected
    assert all(fact.owner == CLUSTER for fact in stored)


def test_an_own_class_may_have_attributes_of_its_own() -> None:
    """On an object of a subclass, a name that resembles a setting must not be refused."""
    misspelt = "c = Cluster()\nc.protocol_versoin = 4"
    (fact,) = facts_in(misspelt, Stored)
    own = "class Own(Cluster):\n    def f(self):\n        self.protocol_versoin = 4"
    (own_fact,) = facts_in(own, Stored)
    assert (fact.owner, own_fact.owner) == (CLUSTER, CLUSTER)
    assert not own_fact.is_refused


# -- calls -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "callee", "count", "unknown"),
    [
        ("Cluster(['a'], port=1)", CLUSTER, 1, []),
        ("Cluster(['a'], nothing=1)", CLUSTER, 1, ["nothing"]),
        ("Cluster.__init__(self, ['a'], nothing=1)", CLUSTER, 1, ["nothing"]),
        ("functools.partial(Cluster, ['a'], nothing=1)", CLUSTER, 1, ["nothing"]),
        ("class Own(Cluster): ...\nOwn(['a'], nothing=1)", CLUSTER, 1, ["nothing"]),
        (
            "class Own(Cluster):\n    def __init__(self):\n"
            "        super().__init__(['a'], nothing=1)",
            CLUSTER,
            1,
            ["nothing"],
        ),
        ("Cluster().connect('ks', nothing=1)", f"{CLUSTER}.connect", 1, ["nothing"]),
    ],
)
def test_calls_of_the_driver_have_their_arguments(
    text: str, callee: str, count: int, unknown: list[str]
) -> None:
    calls = facts_in(f"import functools\n{text}", Call)
    call = next(fact for fact in calls if fact.callee == callee and fact.arguments)
    assert (len(call.arguments), list(call.unknown)) == (count, unknown)
    assert not call.is_guarded


def test_a_class_that_changes_the_arguments_hides_the_drivers_class() -> None:
    changing = "class Own(Cluster):\n    def __init__(self, *a, **k):\n        f(a)\nOwn(nothing=1)"
    decorated = "@d\nclass Own(Cluster): ...\nOwn(nothing=1)"
    for text in (changing, decorated):
        assert facts_in(text, Call)[-1].callee == ""


def test_arguments_are_the_constants_that_names_stand_for() -> None:
    (call,) = facts_in("PORT = 9042\nCluster(port=PORT)", Call)
    assert ast.unparse(call.keywords["port"]) == "9042"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mock.patch('cassandra.cluster.Nothing')", ["cassandra.cluster.Nothing"]),
        ("mock.patch('cassandra.cluster.Nothing', create=True)", []),
        ("mock.patch.object(Cluster, 'nothing')", [f"{CLUSTER}.nothing"]),
        ("monkeypatch.setattr(Cluster, 'nothing', 1, raising=False)", []),
        ("monkeypatch.setattr(Cluster, 'nothing', 1)", [f"{CLUSTER}.nothing"]),
        ("monkeypatch.setattr('cassandra.cluster.Nothing', 1)", ["cassandra.cluster.Nothing"]),
        ("importlib.import_module('cassandra.nothing')", ["cassandra.nothing"]),
        ("log('cassandra.nothing')", []),
        ("mock.patch('cassandra')", []),
        ("mock.patch('other.module')", []),
        ("mock.patch()", []),
    ],
)
def test_names_in_strings_are_looked_up(text: str, expected: list[str]) -> None:
    names = [fact.name for fact in facts_in(text, Name) if fact.name != CLUSTER]
    assert names == expected


def test_texts_of_versions_are_guarded_by_errors_of_distributions() -> None:
    text = "try:\n    version('cassandra-driver')\nexcept {}:\n    x = 1"
    for error, guarded in (("PackageNotFoundError", True), ("KeyError", False)):
        (fact,) = facts_in(text.format(error), Text)
        assert fact.value == "cassandra-driver"
        assert fact.callee == "version"
        assert fact.is_guarded is guarded


def test_a_program_that_chooses_how_processes_start() -> None:
    for method, forks in (("fork", True), ("spawn", False)):
        program = Program()
        survey(ast.parse(f"import x\nx.set_start_method('{method}')"), program)
        assert program.forks is forks
    # If the files set different methods, a process may be a fork, in whatever order they are read.
    mixed = Program()
    for method in ("fork", "spawn"):
        survey(ast.parse(f"import x\nx.set_start_method('{method}')"), mixed)
    assert mixed.forks
    relative = Program()
    survey(ast.parse("from .own import x\nfrom . import y"), relative)
    assert relative.imports == set()
