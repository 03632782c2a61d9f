"""The reader of a syntax tree finds imports, ``try`` statements that guard them, and strings."""

from __future__ import annotations

import ast

from cassandra.migrate.facts import Call, Name, Program, Text
from cassandra.migrate.reader import read, survey


def names_in(text: str) -> list[tuple[str, bool]]:
    facts = [fact for fact in read(ast.parse(text)) if isinstance(fact, Name)]
    return [(fact.name, fact.is_guarded) for fact in facts]


def test_a_star_names_the_module() -> None:
    assert names_in("from cassandra.query import *") == [("cassandra.query", False)]


def test_imports_of_the_program_itself_are_not_the_drivers() -> None:
    assert (
        names_in("from .cassandra import x\nfrom . import cassandra\nimport mine.cassandra") == []
    )


def test_imports_are_guarded_by_handlers_of_import_errors() -> None:
    try_and_except = "try:\n    import cassandra.nothing\nexcept "
    one_guarded_name, one_unguarded_name = (
        [("cassandra.nothing", True)],
        [("cassandra.nothing", False)],
    )
    assert names_in(try_and_except + "ImportError:\n    x = None") == one_guarded_name
    assert names_in(try_and_except + "(KeyError, ImportError):\n    x = None") == one_guarded_name
    assert names_in(try_and_except.removesuffix(" ") + ":\n    x = None") == one_guarded_name
    assert names_in(try_and_except + "KeyError:\n    x = None") == one_unguarded_name
    # A handler that raises or exits does not guard.
    assert names_in(try_and_except + "ImportError as e:\n    raise E from e") == one_unguarded_name
    assert names_in(try_and_except + "ImportError:\n    sys.exit(1)") == one_unguarded_name
    import_in_suppress = "with suppress(ImportError):\n    import cassandra.nothing"
    assert names_in(f"from contextlib import suppress\n{import_in_suppress}") == one_guarded_name
    # Code in the handler is not guarded, nor is a function that is called later.
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
    """The facts are its imports, attributes, definitions and columns."""
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
