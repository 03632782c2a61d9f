"""Test simple statements, routing keys, and parameters that the client formats into the query."""

from __future__ import annotations

import copy
import decimal
import pickle
import types
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import pandas
import pytest

from cassandra import ConsistencyLevel
from cassandra.client.checks import check_pairs, list_of_queries
from cassandra.encoder import Encoder
from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.errors import MissingParameter
from cassandra.metadata.host import Host
from cassandra.query import (
    FETCH_SIZE_UNSET,
    BatchStatement,
    HostTargetingStatement,
    SimpleStatement,
    ValueSequence,
    bind_params,
)
from cassandra.query.statement import shown_argument
from tests.unit.query.test_bound import prepared

Pair = namedtuple("Pair", ["a", "b"])


def pickled(statement: Any) -> Any:
    """Return the copy of `statement` from pickling and unpickling."""
    return pickle.loads(pickle.dumps(statement))


class TestSimpleStatement:
    def test_defaults(self) -> None:
        """A SimpleStatement without further arguments has the documented defaults."""
        statement = SimpleStatement("SELECT 1")
        assert statement.consistency_level is None
        assert statement.fetch_size is FETCH_SIZE_UNSET
        assert statement.is_idempotent is False
        assert statement.routing_key is None
        assert not statement.is_lwt()
        assert repr(statement) == '<SimpleStatement query="SELECT 1", consistency=Not Set>'

    @pytest.mark.parametrize(
        ("key", "expected"),
        [
            ("é", "é".encode()),
            (b"\0\1", b"\0\1"),
            (bytearray(b"ab"), b"ab"),
            (memoryview(b"ab"), b"ab"),
            (["é"], "é".encode()),
            # For a routing key of several parts, each part is preceded by its length in two bytes
            # and followed by a zero byte.
            (["ab", b"c"], b"\x00\x02ab\x00\x00\x01c\x00"),
            ((b"ab", bytearray(b"c")), b"\x00\x02ab\x00\x00\x01c\x00"),
            ([], None),
        ],
    )
    def test_strings_in_a_routing_key_are_encoded(self, key: Any, expected: bytes | None) -> None:
        """Strings in a routing key are encoded, and several parts are joined.

        This holds for simple statements, batches and bound statements.
        """
        statement = SimpleStatement("SELECT 1", routing_key=key, keyspace="ks")
        assert statement.routing_key == expected
        batch = BatchStatement().add(SimpleStatement("SELECT 2")).add(statement)
        assert batch.routing_key == expected
        # A batch takes its keyspace from the statement that gives it a routing key.
        assert batch.keyspace == (None if expected is None else "ks")
        batch = BatchStatement()
        batch.routing_key = key
        assert batch.routing_key == expected
        bound = prepared().bind((1,))
        bound.routing_key = key
        assert bound.routing_key == expected

    @pytest.mark.parametrize("key", [5, [5], ["a", None], 1.5])
    def test_a_routing_key_of_anything_else_is_refused(self, key: Any) -> None:
        """A routing key that is not bytes, a string or a sequence of them raises TypeError."""
        statement = SimpleStatement("SELECT 1", routing_key=key)
        with pytest.raises(TypeError, match=r"routing_key is .*bytes, text, or a sequence"):
            _ = statement.routing_key

    def test_a_routing_key_of_components_is_joined(self) -> None:
        """The components of a routing key are joined, and the key can be assigned and deleted."""
        statement = SimpleStatement("SELECT 1", routing_key=[b"ab", b"c"])
        assert statement.routing_key == b"\x00\x02ab\x00\x00\x01c\x00"
        statement.routing_key = [b"alone"]
        assert statement.routing_key == b"alone"
        del statement.routing_key
        assert statement.routing_key is None

    def test_serial_levels_are_checked(self) -> None:
        """An assigned serial consistency level that is not serial raises ValueError."""
        statement = SimpleStatement("SELECT 1", serial_consistency_level=ConsistencyLevel.SERIAL)
        statement.serial_consistency_level = None
        with pytest.raises(ValueError, match="QUORUM"):
            statement.serial_consistency_level = ConsistencyLevel.QUORUM

    def test_wrong_arguments(self) -> None:
        """Arguments of wrong types raise an error that names them."""
        with pytest.raises(TypeError, match="int: 5"):
            SimpleStatement(5)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="retry_policy"):
            SimpleStatement("SELECT 1", retry_policy=object())  # type: ignore[arg-type]

    def test_applications_may_set_attributes(self) -> None:
        """Applications may set attributes on a SimpleStatement that the class does not define."""
        statement = SimpleStatement("SELECT 1")
        statement.note = "mine"  # type: ignore[attr-defined]
        assert statement.note == "mine"  # type: ignore[attr-defined]

    def test_a_host_targeting_statement_keeps_the_settings(self) -> None:
        """A HostTargetingStatement has its host and the settings of the statement in it."""
        host = Host(DefaultEndPoint("10.0.0.1"))
        targeted = HostTargetingStatement(SimpleStatement("SELECT 1", fetch_size=7), host)
        assert targeted.target_host is host
        assert targeted.fetch_size == 7
        assert targeted.query_string == "SELECT 1"

    @pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
    def test_a_host_targeting_statement_can_be_copied(self, copied: Callable[[Any], Any]) -> None:
        """A HostTargetingStatement can be copied and pickled."""
        host: Any = None
        targeted = copied(HostTargetingStatement(SimpleStatement("SELECT 1", fetch_size=7), host))
        assert targeted.fetch_size == 7
        assert targeted.target_host is None


class TestParameters:
    @pytest.mark.parametrize(
        ("query", "parameters", "expected"),
        [
            ("SELECT %s", (1,), "SELECT 1"),
            ("SELECT %s, %s", ["it's", None], "SELECT 'it''s', NULL"),
            ("SELECT %(a)s, %(b)s", {"a": True, "b": b"\x01\xff"}, "SELECT true, 0x01ff"),
            ("x IN %s", (ValueSequence((1, 2)),), "x IN (1 , 2)"),
            ("a %% b %s", (1,), "a % b 1"),
            ("l = %s", ((1, 2),), "l = [1, 2]"),
            ("k IN %s AND l = %s", ((1, 2), (3, 4)), "k IN (1, 2) AND l = [3, 4]"),
            ("%% k in%s", (("a", None),), "% k in('a', NULL)"),
            ("(k, v) IN %s", (((1, 2), (3, 4)),), "(k, v) IN ((1, 2), (3, 4))"),
            ("k IN %(a)s AND l = %(a)s", {"a": (1,), "b": 2}, "k IN (1) AND l = [1]"),
            ("SET min %s, max = %s", ((1,), [2]), "SET min [1], max = [2]"),
            ("%s", (decimal.Decimal("1.50"),), "1.50"),
        ],
    )
    def test_literals(self, query: str, parameters: Any, expected: str) -> None:
        """`bind_params` formats parameters of each kind as CQL literals."""
        # The result may have other spaces than the expected string, but only within parentheses and
        # before commas.
        formatted = bind_params(query, parameters).replace("( ", "(").replace(" )", ")")
        assert formatted in (expected, expected.replace(" ,", ","))

    @pytest.mark.parametrize(
        ("query", "parameters", "error", "message"),
        [
            ("SELECT %s, %s", (1,), TypeError, "SELECT %s, %s.*1 parameter given"),
            ("SELECT %s", (1, 2), TypeError, "2 parameters given"),
            (
                "k IN %s",
                (1, 2),
                TypeError,
                r"one parameter, a tuple of values: pass \(\(1, 2\),\)$",
            ),
            ("SELECT %(a)s", {"b": 1}, ValueError, "no parameter is named 'a'"),
            ("SELECT %(a)s", {"b": 1}, KeyError, "^the placeholders .* no parameter is named 'a'"),
            ("k IN %(a)s", {"b": (1,)}, KeyError, "no parameter is named 'a'"),
            ("k IN %s AND %s", ((1,),), TypeError, "not enough arguments for format string"),
            ("SELECT %s", "text", TypeError, "sequence or a mapping, not str: 'text'"),
            ("SELECT %s", 5, TypeError, "sequence or a mapping, not int: 5"),
            ("SELECT %s, %s", {1, 2}, TypeError, r"the set \{1, 2\}, which has no order: write"),
            ("SELECT %s, %s", frozenset((1, 2)), TypeError, "which has no order: write a tuple"),
            ("SELECT '%' FROM t WHERE k = %s", (1,), ValueError, "a literal % is written %%"),
            ("SELECT v FROM t WHERE k = %d", (1,), TypeError, "given: write %s for every value"),
            ("SELECT v FROM t WHERE k = %f", (1.5,), TypeError, "given: write %s for every value"),
            ("INSERT (k) VALUES (%.2f)", (1.5,), TypeError, "given: write %s for every value"),
            ("INSERT (k) VALUES (%05d)", (15,), TypeError, "given: write %s for every value"),
            ("SELECT %s, %s", {"a": 1}, TypeError, r"%s is for a sequence, write %\(name\)s$"),
            ("SELECT %(a)s", (1,), TypeError, r"%\(name\)s is for a mapping, write %s$"),
            ("SELECT %(a)s", Pair(1, 2), TypeError, r"write parameters\._asdict\(\)$"),
            ("SELECT %(a)s", pandas.Series([1]), TypeError, r"write parameters\.to_dict\(\)$"),
        ],
    )
    def test_mistakes_name_the_query(
        self, query: str, parameters: Any, error: type[Exception], message: str
    ) -> None:
        """Parameters that do not fit the query raise an error that explains the mistake."""
        with pytest.raises(error, match=message):
            bind_params(query, parameters)


class ListOfKeys(dict[str, Any]):
    """A dict of an application, whose keys have no methods of sets."""

    def keys(self) -> Any:
        return list(super().keys())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("k = %(a)s", "k = 1"),
        ("k = %(a)s, %(a)s", "k = 1, 1"),
        ("k = %(a)s -- %%(other)s", "k = 1 -- %(other)s"),
        ("k IN %(t)s AND l = %(t)s", "k IN (1, 2) AND l = [1, 2]"),
        ("k = 1 -%(n)s", "k = 1 - -5"),
        ("k = %(count(*))s", "k = 2"),
        ("no placeholder", "no placeholder"),
    ],
)
def test_values_that_the_query_does_not_name_are_not_encoded(query: str, expected: str) -> None:
    """`bind_params` encodes a value of a mapping only if the query names it.

    Applications pass ``locals()`` and ``vars(item)``, which may contain any objects.
    """
    encoder = Encoder()
    other = object()
    mapping = {"a": 1, "t": (1, 2), "n": -5, "count(*)": 2, "other": other, "half": "\ud800"}
    assert bind_params(query, mapping, encoder) == expected
    assert bind_params(query, types.MappingProxyType(mapping), encoder) == expected
    assert bind_params(query, ListOfKeys(mapping), encoder) == expected
    # A query with a character that is not ASCII is searched for surrogates.
    assert bind_params(f"{query} é", mapping, encoder) == f"{expected} é"
    with pytest.raises(TypeError, match="has no literal in CQL"):
        bind_params(f"{query} %(other)s", mapping, encoder)
    with pytest.raises(MissingParameter, match=r"names 'a', .*'half' given: .* 'gone'"):
        bind_params(f"{query} %(gone)s", mapping, encoder)


def test_a_placeholder_without_a_name_uses_the_whole_mapping() -> None:
    """For ``%s``, Python inserts the text of the whole mapping, as in cassandra-driver."""
    assert bind_params("x = %s", {"a": 1, "b": "x"}) == """x = {'a': '1', 'b': "'x'"}"""
    with pytest.raises(TypeError, match="has no literal in CQL"):
        bind_params("x = %s", {"a": 1, "b": object()})


def test_a_batch_does_not_encode_values_that_the_query_does_not_name() -> None:
    batch = BatchStatement()
    batch.add("INSERT INTO t (k) VALUES (%(k)s)", {"k": 1, "other": object()})
    assert len(batch) == 1


def test_stop_iteration_of_an_encoder_does_not_cut_the_values() -> None:
    """An application's method that raises StopIteration is not taken for the end of the values."""
    encoder = Encoder()
    encoder.mapping[Pair] = lambda pair: next(iter(()))
    with pytest.raises(StopIteration):
        bind_params("%s, %s", (1, Pair(1, 2)), encoder)


def test_iterators_are_read_only_once() -> None:
    """`bind_params` reads an iterator only once."""
    assert bind_params("%s", ((number for number in (1, 2)),)) == "[1, 2]"
    assert bind_params("%s, %s", iter((1, 2))) == "1, 2"  # type: ignore[arg-type]


def test_only_sets_of_several_values_are_refused() -> None:
    """A set of a single value, and the keys of a mapping, are accepted as parameters.

    Other sets are refused, because the order of their values is not known.
    """
    assert bind_params("%s", {1}) == "1"  # type: ignore[arg-type]
    assert bind_params("%s, %s", {2: "b", 1: "a"}.keys()) == "2, 1"  # type: ignore[arg-type]


def test_a_batch_refuses_a_set_of_values_for_placeholders() -> None:
    """`BatchStatement.add` refuses a set as parameters, and the batch does not change."""
    batch = BatchStatement()
    with pytest.raises(TypeError, match="which has no order"):
        batch.add("INSERT INTO t (k, c) VALUES (%s, %s)", {100, 3})
    assert len(batch) == 0


@pytest.mark.parametrize("sizes", [(65_535, 1), (65_536, 1), (1, 70_000)])
def test_the_error_of_a_long_routing_key_component_names_the_limit(sizes: tuple[int, int]) -> None:
    """A routing key component of more than 65,535 bytes raises a ValueError that names the limit.

    The length of a component is written as a 16-bit number.
    """
    statement = SimpleStatement("SELECT 1", routing_key=[b"a" * size for size in sizes])
    if max(sizes) <= 65_535:
        assert statement.routing_key == b"\xff\xff" + b"a" * 65_535 + b"\0\0\x01a\0"
        return
    with pytest.raises(ValueError, match=rf"partition key column of {max(sizes)} bytes.*65535"):
        _ = statement.routing_key


def test_a_negative_fetch_size_warns() -> None:
    """A negative fetch_size gives a RuntimeWarning that points to the application's line."""
    with pytest.warns(RuntimeWarning, match="fetch_size=0 means one page of all rows"):
        SimpleStatement("SELECT k FROM t", fetch_size=0)
    with pytest.warns(RuntimeWarning, match="fetch_size=-1 means one page of all rows") as warned:
        SimpleStatement("SELECT k FROM t", fetch_size=-1)
    assert warned[0].filename == __file__


def test_a_wrong_argument_is_shown_without_values() -> None:
    """Messages show neither the values of a wrong argument nor its passwords."""
    role = "ALTER ROLE bob WITH PASSWORD = 'S3cr3t'"
    arguments: list[tuple[object, str]] = [
        (role, "'ALTER ROLE bob WITH PASSWORD = ?'"),
        (role.encode(), "b'ALTER ROLE bob WITH PASSWORD = ?'"),
        (SimpleStatement(role), "<SimpleStatement 'ALTER ROLE bob WITH PASSWORD = ?'>"),
        ((role, "S3cr3t"), "a tuple of 2"),
        (["S3cr3t"], "a list of 1"),
        (None, "None"),
        (5, "5"),
        (int, "<class 'int'>"),
    ]
    for argument, shown in arguments:
        assert shown_argument(argument) == shown
    assert "S3cr3t" not in shown_argument(types.SimpleNamespace(password="S3cr3t"))
    calls: list[Callable[[Any], object]] = [SimpleStatement, list_of_queries, check_pairs]
    for call in calls:
        for argument in ([SimpleStatement(role)], [(role, ("S3cr3t",), 1)]):
            with pytest.raises(TypeError) as raised:
                call(argument)
            assert "S3cr3t" not in str(raised.value)
