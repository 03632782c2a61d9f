"""Tests of `CodecRegistry`, the registry of converters.

The registry checks registrations, passes them to sessions, and reports changes.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

from cassandra.codecs import CodecRegistry, Converter
from cassandra.cqltypes import UTF8Type

TO_STR: Converter[Any, Any] = Converter(to_cql=str)
TO_REPR: Converter[Any, Any] = Converter(to_cql=repr)


class Statement:
    """A fake statement that counts the calls of `renew_codecs`."""

    def __init__(self) -> None:
        self.renewals = 0

    def renew_codecs(self) -> None:
        self.renewals += 1


def test_converters_are_none_unless_some_are_registered() -> None:
    """If no converter is registered, `converters` is None, so it costs statements no time."""
    cluster = CodecRegistry()
    session = CodecRegistry(cluster)
    assert cluster.converters is session.converters is None
    session.register_type("text", TO_STR)
    session.unregister_type(UTF8Type)
    assert session.converters is None


def test_a_session_inherits_and_overrides_the_cluster_s_converters() -> None:
    """A session has the converters of its cluster, unless it registers its own for the same type.

    When these are unregistered, the session has the cluster's converters again.
    """
    cluster = CodecRegistry()
    cluster.register_type("text", TO_STR)
    session, other_session = CodecRegistry(cluster), CodecRegistry(cluster)
    # "varchar" is another name of "text".
    session.register_type("varchar", TO_REPR)
    cluster.register_column("ks.t.c", TO_STR)
    cluster.register_class(int, str)
    for registry, converter in ((session, TO_REPR), (other_session, TO_STR), (cluster, TO_STR)):
        converters = registry.converters
        assert converters is not None
        assert converters.of_type(UTF8Type) is converter
        assert converters.columns == {("ks", "t", "c"): TO_STR}
        assert converters.of_class(bool) is str
        assert converters.of_class(float) is None
    session.unregister_type("text")
    assert session.converters is not None
    assert session.converters.of_type(UTF8Type) is TO_STR


def test_the_nearest_class_and_the_more_precise_type_win() -> None:
    """The converter of the nearest class and of the more precise type is used.

    The converter of a class is used for a subclass that has no converter. A type with a keyspace
    precedes a type without a keyspace.
    """

    class Base: ...

    class Derived(Base): ...

    registry = CodecRegistry()
    registry.register_class(Base, str)
    registry.register_class(Derived, Converter(to_cql=repr))
    registry.register_type("money", TO_STR)
    registry.register_type("shop.money", TO_REPR)
    converters = registry.converters
    assert converters is not None
    assert converters.of_class(Derived) is repr
    assert converters.of_class(Base) is str
    assert [str(pattern) for pattern, _ in converters.types] == ["shop.money", "money"]


def test_statements_are_renewed_after_changes_in_session_and_cluster() -> None:
    """A change in the session renews the session's prepared statements.

    A change in the cluster renews the statements of all sessions.
    """
    cluster = CodecRegistry()
    session, other_session = CodecRegistry(cluster), CodecRegistry(cluster)
    statement, other_statement = Statement(), Statement()
    session.follow(statement)
    other_session.follow(other_statement)
    session.register_type("text", TO_STR)
    assert statement.renewals == 1
    assert other_statement.renewals == 0
    cluster.register_column("ks.t.c", TO_STR)
    assert statement.renewals == 2
    assert other_statement.renewals == 1
    # The registry does not keep its statements alive.
    del statement
    gc.collect()
    cluster.register_class(int, str)
    assert other_statement.renewals == 2


def test_a_statement_that_cannot_be_renewed_does_not_stop_the_renewal_of_others() -> None:
    """If a statement cannot be renewed, the other statements still use the new converter.

    The application gets the error of the statement that failed.
    """

    class Failing(Statement):
        def renew_codecs(self) -> None:
            super().renew_codecs()
            raise ValueError("no plan")

    registry = CodecRegistry()
    statements = [Failing(), Statement(), Failing(), Statement()]
    for statement in statements:
        registry.follow(statement)
    with pytest.raises(ValueError, match="no plan"):
        registry.register_type("text", TO_STR)
    assert [statement.renewals for statement in statements] == [1, 1, 1, 1]


def test_a_refused_registration_changes_nothing() -> None:
    """A refused registration changes nothing: the registry is still empty.

    No statement is renewed.
    """
    registry = CodecRegistry()
    statement = Statement()
    registry.follow(statement)
    not_a_converter: Any = str
    not_a_class: Any = "int"
    not_a_function: Any = "int"
    # Each call has one mistake, such as a misspelt type or a column without a keyspace.
    refused: list[Callable[[], None]] = [
        lambda: registry.register_type("text", not_a_converter),
        lambda: registry.register_type("timstamp", TO_STR),
        lambda: registry.register_column("ks.t.c", not_a_converter),
        lambda: registry.register_column("t.c", TO_STR),
        lambda: registry.register_class(not_a_class, str),
        lambda: registry.register_class(int, not_a_function),
        lambda: registry.register_class(int, Converter(from_cql=int)),
        lambda: registry.register_class(object, str),
    ]
    for register in refused:
        with pytest.raises((TypeError, ValueError)):
            register()
    assert registry.converters is None
    assert statement.renewals == 0


def test_errors_name_the_type_column_or_class() -> None:
    registry = CodecRegistry()
    not_a_converter: Any = 5
    with pytest.raises(TypeError, match=r"the converter of CQL type list<text> must be .* 5 \(int"):
        registry.register_type("list<text>", not_a_converter)
    with pytest.raises(TypeError, match=r"the converter of column ks\.t\.c must be"):
        registry.register_column("ks.t.c", not_a_converter)
    with pytest.raises(TypeError, match="to_cql for int must be a function or a Converter"):
        registry.register_class(int, not_a_converter)


def test_unregistering_a_missing_converter_is_an_error() -> None:
    """Unregistering a missing converter is an error.

    A session cannot remove converters that it has inherited from the cluster.
    """
    cluster = CodecRegistry()
    cluster.register_type("text", TO_STR)
    cluster.register_column("ks.t.c", TO_STR)
    cluster.register_class(int, str)
    session = CodecRegistry(cluster)
    # The session only inherits its converters, so it has no converter to remove. The cluster has no
    # converter left the second time.
    for registry, is_registered in ((session, False), (cluster, True), (cluster, False)):
        for unregister, key in (
            (registry.unregister_type, "text"),
            (registry.unregister_column, "ks.t.c"),
            (registry.unregister_class, int),
        ):
            call: Any = unregister
            if is_registered:
                call(key)
            else:
                with pytest.raises(KeyError, match="no converter is registered here for the"):
                    call(key)


def test_a_registry_lists_its_converters() -> None:
    """A registry lists its converters by type, column and class, and its repr names them."""
    registry = CodecRegistry()
    assert repr(registry) == "<CodecRegistry of no converters>"
    registry.register_type("list<text>", TO_STR)
    registry.register_column("ks.t.c", TO_REPR)
    registry.register_class(int, str)
    assert dict(registry.types) == {"list<text>": TO_STR}
    assert dict(registry.columns) == {("ks", "t", "c"): TO_REPR}
    assert dict(registry.classes) == {int: str}
    assert repr(registry) == "<CodecRegistry of list<text>, ks.t.c, int>"
    assert repr(CodecRegistry(registry)).endswith("no converters, with those of the cluster>")
