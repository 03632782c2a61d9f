"""The classes of named tuples."""

from __future__ import annotations

import pickle
from collections import OrderedDict

from cassandra.protocol.rowclass import row_class
from cassandra.query.row_factories import (
    dict_factory,
    named_tuple_factory,
    ordered_dict_factory,
    pseudo_namedtuple_factory,
    tuple_factory,
)


def test_a_class_is_made_once() -> None:
    assert row_class(("a", "b")) is row_class(["a", "b"])
    assert row_class(("a", "b")) is not row_class(("b", "a"))


def test_names_become_attributes() -> None:
    names = [
        "plain",
        "count(*)",
        "system.ttl(a)",
        "_under",
        "trailing_",
        "class",
        "plain",
        "2x",
        "a b",
        "é",
    ]
    assert row_class(names)._fields == (
        "plain", "count", "system_ttl_a", "under", "trailing_", "_5", "_6", "_7", "a_b", "é",
    )  # fmt: skip


def test_many_classes_do_not_pile_up() -> None:
    for index in range(3000):
        assert row_class((f"column_{index}",))._fields == (f"column_{index}",)


def test_factories() -> None:
    names, rows = ["a", "b"], [(1, 2), (3, 4)]
    assert tuple_factory(names, rows) == rows
    assert [row.b for row in named_tuple_factory(names, rows)] == [2, 4]
    assert dict_factory(names, rows) == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    assert ordered_dict_factory(names, rows) == [OrderedDict(a=1, b=2), OrderedDict(a=3, b=4)]


def test_pseudo_named_tuples() -> None:
    (row,) = pseudo_namedtuple_factory(["a", "b"], [(1, 2)])
    assert (row.a, row[1], len(row), list(row)) == (1, 2, 2, [1, 2])
    assert row == pseudo_namedtuple_factory(["a", "b"], [(1, 2)])[0]
    assert repr(row) == "Row(a=1, b=2)"


def test_factories_say_their_public_path_and_pickle() -> None:
    assert tuple_factory.__module__ == "cassandra.query"
    assert pickle.loads(pickle.dumps(dict_factory)) is dict_factory
