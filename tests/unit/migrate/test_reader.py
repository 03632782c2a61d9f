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
    begin = "try:\n    import cassandra.nothing\nexcept "
    guarded, free = [("cassandra.nothing", True)], [("cassandra.nothing", False)]
    assert names_in(begin + "ImportError:\n    x = None") == guarded
    assert names_in(begin + "(KeyError, ImportError):\n    x = None") == guarded
    assert names_in(begin.removesuffix(" ") + ":\n    x = None") == guarded
    assert names_in(begin + "KeyError:\n    x = None") == free
    assert names_in(begin + "ImportError as e:\n    raise E from e") == free
    assert names_in(begin + "ImportError:\n    sys.exit(1)") == free
    within = "with suppress(ImportError):\n    import cassandra.nothing"
    assert names_in(f"from contextlib import suppress\n{within}") == guarded
    # Code in the handler is not guarded, nor is a function that is called later.
    assert names_in("try:\n    x\nexcept ImportError:\n    import cassandra.nothing") == free
    later = "try:\n    def f():\n        import cassandra.nothing\nexcept ImportError:\n    x = 1"
    assert names_in(later) == free


def test_strings_have_the_call_that_gets_them_and_docstrings_are_skipped() -> None:
    tree = ast.parse("'a'\ndef f():\n    'b'\nf('c', x='d')\ng(x=['e'])\ny = 'f'")
    texts = [(fact.value, fact.callee) for fact in read(tree) if isinstance(fact, Text)]
    assert texts == [("c", "f"), ("d", "f:x"), ("e", "g:x"), ("f", "")]


def test_unpacked_arguments_are_ignored() -> None:
    tree = ast.parse("from cassandra.cluster import Cluster\nCluster(*a, nothing=1, **b)")
    (call,) = (fact for fact in read(tree) if isinstance(fact, Call))
    assert (call.callee, call.unknown) == ("cassandra.cluster.Cluster", ["nothing"])


def test_facts_of_all_files_together() -> None:
    """The imports, attributes, definitions and columns of a program are collected."""
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
