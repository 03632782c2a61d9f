"""Test `BoundStatement`: values by position and by name, missing values, and advice in errors."""

from __future__ import annotations

import collections
import copy
import datetime
import pickle
import time
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra._impl import tablets
from cassandra.cqltypes import (
    BytesType,
    DateType,
    DurationType,
    FloatType,
    Int32Type,
    ListType,
    MapType,
    SetType,
    TimeUUIDType,
    UTF8Type,
    VectorType,
)
from cassandra.policies import FallthroughRetryPolicy
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.query import (
    UNSET_VALUE,
    BatchStatement,
    BoundStatement,
    PreparedStatement,
    bind_params,
)


def pickled(bound: BoundStatement) -> Any:
    """Return a copy by pickle."""
    return pickle.loads(pickle.dumps(bound))


def prepared(version: int = 4, key_indexes: list[int] | None = None) -> PreparedStatement:
    """Return an INSERT with three markers, prepared with this version of the protocol."""
    columns = [
        ColumnMetadata("ks", "people", "id", Int32Type),
        ColumnMetadata("ks", "people", "name", UTF8Type),
        ColumnMetadata("ks", "people", "marks", ListType.apply_parameters([Int32Type])),
    ]
    text = "INSERT INTO people (id, name, marks) VALUES (?, ?, ?)"
    return PreparedStatement(
        columns,
        b"\x01\x02",
        [0] if key_indexes is None else key_indexes,
        text,
        "ks",
        version,
        None,
        None,
    )


def statement_of(**types: Any) -> PreparedStatement:
    """Return a statement with a bind marker for each of these names and types."""
    columns = [ColumnMetadata("ks", "t", name, cql_type) for name, cql_type in types.items()]
    return PreparedStatement(columns, b"\x01\x04", [], "INSERT INTO t", "ks", 4, None, None)


def vector_statement() -> PreparedStatement:
    """Return a statement whose only bind marker is a vector of three floats."""
    cql_type = VectorType.apply_parameters([FloatType, 3])
    columns = [ColumnMetadata("ks", "films", "embedding", cql_type)]
    text = "SELECT id FROM films ORDER BY embedding ANN OF ? LIMIT 5"
    return PreparedStatement(columns, b"\x01\x03", [], text, "ks", 4, None, None)


class TestBoundStatement:
    def test_a_dict_for_a_column_of_text_gets_advice(self) -> None:
        """If a dict is bound to a text column, the error recommends `json.dumps`."""
        with pytest.raises(TypeError, match=r"is not text.*; .* pass json\.dumps\(value\)"):
            prepared().bind((7, {"first": "ada"}, [1]))

    def test_values_by_position(self) -> None:
        """Values of a tuple are encoded by position, and the key column gives the routing key."""
        bound = prepared().bind((7, "ada", [1]))
        assert bound.values == [b"\0\0\0\x07", b"ada", b"\0\0\0\x01\0\0\0\x04\0\0\0\x01"]
        assert bound.routing_key == b"\0\0\0\x07"

    def test_values_by_name(self) -> None:
        """The values of a dict are bound in the order of the statement's markers."""
        bound = prepared().bind({"name": "ada", "id": 7, "marks": None})
        assert bound.values == [b"\0\0\0\x07", b"ada", None]

    def test_missing_values_are_unset(self) -> None:
        """On version 4 of the protocol, columns without a value are UNSET_VALUE."""
        assert prepared().bind((7,)).values == [b"\0\0\0\x07", UNSET_VALUE, UNSET_VALUE]
        assert prepared().bind({"id": 7, "marks": None}).values == [
            b"\0\0\0\x07",
            UNSET_VALUE,
            None,
        ]

    def test_missing_values_are_an_error_on_version_3(self) -> None:
        """On version 3 of the protocol, which has no unset values, a missing value is an error."""
        with pytest.raises(ValueError, match="name"):
            prepared(version=3).bind((7,))

    def test_too_many_values_and_unknown_names(self) -> None:
        """Too many values raise ValueError, and unknown names do if `strict_names` is set."""
        with pytest.raises(ValueError, match=r"(?s)4.*3.*INSERT INTO people"):
            prepared().bind((1, "x", [], 4))
        assert prepared().bind({"id": 1, "nobody": 2}) is not None
        strict = prepared()
        strict.strict_names = True
        with pytest.raises(ValueError, match=r"(?s)'?nobody'?.*INSERT INTO people"):
            strict.bind({"id": 1, "nobody": 2})

    @pytest.mark.parametrize("values", [None, (), {}, {"name": "ada"}])
    def test_a_missing_partition_key_is_refused(self, values: Any) -> None:
        """Without a value for the partition key, `bind` raises a ValueError that names it."""
        with pytest.raises(
            ValueError, match=r"(?s)the partition key needs a value for 'id'.*INSERT INTO people"
        ):
            prepared().bind(values)

    @pytest.mark.filterwarnings("ignore:a mapping has values for 'ID'")
    @pytest.mark.parametrize(
        ("values", "note"),
        [
            ({"ID": 1}, r"; there is a value for 'ID': did you mean 'id'\? \(in"),
            ({"key": 1, "name": "ada"}, r"; there are values for 'key' \(in"),
            ({"name": "ada"}, r"value for 'id' \(in"),
            (collections.UserDict({"idd": 1}), r"'id'; .* 'idd': did you mean 'id'\? \(in"),
        ],
    )
    def test_a_misspelt_partition_key_is_named(self, values: Any, note: str) -> None:
        """If a dict misspells the partition key, the error names the wrong and the right key."""
        with pytest.raises(ValueError, match=note):
            prepared().bind(values)

    def test_a_value_of_the_wrong_type_names_column_type_and_value(self) -> None:
        """The error for a value of a wrong type names the column, its type and the value."""
        with pytest.raises(
            TypeError,
            match=r"(?s)\"marks\" \(list<int>, ListType\(Int32Type\)\).*element 1.*'x'.*INSERT INTO people",  # noqa: E501
        ):
            prepared().bind((1, "x", [1, "x"]))

    def test_settings_come_from_the_prepared_statement_and_may_be_overridden(self) -> None:
        """A bound statement takes the settings of its prepared statement unless it has its own."""
        statement = prepared()
        statement.consistency_level = ConsistencyLevel.QUORUM
        statement.serial_consistency_level = ConsistencyLevel.LOCAL_SERIAL
        statement.fetch_size = 17
        statement.is_idempotent = True
        statement.custom_payload = {"a": b"b"}
        bound = statement.bind((1,))
        assert bound.consistency_level == ConsistencyLevel.QUORUM
        assert bound.serial_consistency_level == ConsistencyLevel.LOCAL_SERIAL
        assert bound.fetch_size == 17
        assert bound.is_idempotent
        assert (bound.keyspace, bound.table) == ("ks", "people")
        assert bound.custom_payload == {"a": b"b"}
        # The fetch size None does not mean "not set". It means that the result has no pages.
        overridden = BoundStatement(
            statement, consistency_level=ConsistencyLevel.ONE, fetch_size=None
        )
        assert overridden.consistency_level == ConsistencyLevel.ONE
        assert overridden.fetch_size is None

    def test_there_is_no_routing_key_if_unknown_or_partly_bound(self) -> None:
        """The routing key is None if the key columns are unknown or a key value is null.

        A routing key that the application assigns is used.
        """
        assert prepared(key_indexes=[]).bind((1,)).routing_key is None
        assert prepared(key_indexes=[1]).bind((1, None)).routing_key is None
        bound = prepared().bind((1,))
        bound.routing_key = b"mine"
        assert bound.routing_key == b"mine"

    def test_before_bind_there_are_no_values(self) -> None:
        """A BoundStatement that has not been bound has no values."""
        assert BoundStatement(prepared()).values == []


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        (b"\0" * 12, r"write numpy\.frombuffer\(value, 'float32'\)"),
        ("[1, 2, 3]", r"write json\.loads\(value\)"),
        (b"[1, 2, 3]", r"write json\.loads\(value\)"),
        ({"embedding": [1, 2, 3]}, "write the list that the dict has$"),
        ({1, 2, 3}, "write a list, whose elements have an order$"),
        ([[1.0], [2.0], [3.0]], r"one number each: write array\.ravel\(\)"),
    ],
)
def test_a_value_that_is_not_a_vector_gets_advice(value: object, advice: str) -> None:
    """If a value for a vector is not a list, the error says how to convert the value."""
    statement = vector_statement()
    with pytest.raises(TypeError, match=advice):
        statement.bind((value,))


@pytest.mark.parametrize(
    ("cql_type", "name", "value", "advice"),
    [
        (BytesType, "v", [1, 2], r"write bytes\(value\)$"),
        (MapType.apply_parameters([UTF8Type, Int32Type]), "v", [("a", 1)], r"write dict\(value\)"),
        (DateType, "v", time.gmtime(0), r"write datetime\.datetime\(\*value\[:6\]\)$"),
        (Int32Type, "[ttl]", 3_600_000_000, "a number of seconds, at most 630,720,000"),
    ],
)
def test_values_of_other_types_get_advice(
    cql_type: type, name: str, value: object, advice: str
) -> None:
    """The error for a list of bytes, a struct_time or a TTL in microseconds says what to write."""
    statement = statement_of(**{name: cql_type})
    with pytest.raises((TypeError, ValueError), match=advice):
        statement.bind((value,))


def test_an_array_of_ids_gets_advice() -> None:
    """An array in the place of a single value raises a TypeError that recommends `session.load`.

    Such an array probably has the values of a column for many rows.
    """
    numpy = pytest.importorskip("numpy")
    with pytest.raises(
        TypeError, match=r"write session\.load\(table, {'column': array, \.\.\.}\)$"
    ):
        statement_of(k=Int32Type).bind((numpy.arange(3),))


def test_a_matrix_and_a_bare_vector_get_advice() -> None:
    """A matrix, or a vector that is not in a tuple, raises a ValueError with advice."""
    numpy = pytest.importorskip("numpy")
    statement = vector_statement()
    with pytest.raises(ValueError, match=r"write array\[0\] for the first one"):
        statement.bind((numpy.ones((1, 3), "float32"),))
    with pytest.raises(ValueError, match=r"3 given, 1 wanted .* is written \(value,\)"):
        statement.bind([1.0, 2.0, 3.0])


def test_a_frame_is_not_the_values_of_a_row() -> None:
    """A frame or Arrow table in place of a row is refused.

    Iterating over a frame would yield its column names, not values.
    """
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    columns = {"a": ["x"], "b": ["y"]}
    statement = BoundStatement(statement_of(a=UTF8Type, b=UTF8Type))
    for table in (pandas.DataFrame(columns), polars.DataFrame(columns), pyarrow.table(columns)):
        message = f"not a {type(table).__name__}: write session.load"
        with pytest.raises(TypeError, match=message):
            statement.bind(table)
        with pytest.raises(TypeError, match=message):
            BatchStatement().add(statement.prepared_statement, table)
        with pytest.raises(TypeError, match=message):
            bind_params("INSERT INTO t (a, b) VALUES (%s, %s)", table)
    # A single row of a frame is accepted as the values of a row.
    frame = pandas.DataFrame(columns)
    for row in (frame.iloc[0], next(frame.itertuples(index=False))):
        statement.bind(row)
        assert statement.values == [b"x", b"y"]
    with pytest.raises(ValueError, match=r"write frame.itertuples\(index=False\)"):
        statement.bind(next(frame.itertuples()))


def test_a_tuple_inside_a_set_is_not_taken_for_a_row() -> None:
    """The error for a tuple within a set does not recommend a call for many rows."""
    statement = BoundStatement(statement_of(a=SetType.apply_parameters([UTF8Type])))
    with pytest.raises(TypeError, match="is not text") as raised:
        statement.bind(([("a", 1)],))
    assert "for many rows" not in str(raised.value)


@pytest.mark.parametrize(
    ("cql_type", "value", "advice"),
    [
        (SetType.apply_parameters([UTF8Type]), "abc", r"as a list, \[value\], or as a set"),
        (Int32Type, datetime.timedelta(days=1), r"write int\(value\.total_seconds\(\)\)"),
        (
            TimeUUIDType,
            datetime.datetime(2024, 1, 1),
            r"write cassandra\.util\.uuid_from_time\(value\)",
        ),
        (DurationType, datetime.timedelta(days=1), r"write Duration\(months=0, days=value.days"),
    ],
)
def test_values_of_another_form_get_advice(cql_type: Any, value: Any, advice: str) -> None:
    """If a value has a wrong form, the error recommends the right form."""
    with pytest.raises(TypeError, match=advice):
        BoundStatement(statement_of(a=cql_type)).bind((value,))


@pytest.mark.parametrize("packed_type", [bytearray, memoryview])
def test_the_bytes_of_a_vector_get_advice(packed_type: Any) -> None:
    """If the bytes of a vector are bound as a vector, the error recommends `numpy.frombuffer`.

    A bytearray or memoryview counts as a sequence of its bytes, so 12 bytes are not a vector of
    three floats. The advice is given only if the number of bytes fits the vector.
    """
    with pytest.raises(ValueError, match=r"write numpy\.frombuffer\(value, 'float32'\)"):
        vector_statement().bind((packed_type(b"x" * 12),))
    with pytest.raises(ValueError, match="has 4 elements") as refused:
        vector_statement().bind((packed_type(b"x" * 4),))
    assert "frombuffer" not in str(refused.value)


def test_a_large_matrix_gets_the_same_advice_as_a_small_one() -> None:
    """The error for a matrix in the place of a vector says to bind one of its rows.

    The advice does not depend on the size of the matrix.
    """
    numpy = pytest.importorskip("numpy")
    for shape in ((1, 3), (2, 384)):
        with pytest.raises(ValueError, match=r"its rows are vectors themselves: write array\[0\]"):
            vector_statement().bind((numpy.ones(shape, dtype="f4"),))


def test_matrices_of_as_many_rows_as_the_vector_has_elements_get_advice() -> None:
    """If a matrix has as many rows as the vector has elements, the error says to bind a row."""
    numpy = pytest.importorskip("numpy")
    for matrix in (numpy.ones((3, 3), dtype="f4"), [[0.5, 1], [0.25, 1], [1.0, 1]]):
        with pytest.raises(TypeError, match=r"its rows are vectors themselves: write array\[0\]"):
            vector_statement().bind((matrix,))


def test_a_tensor_of_two_dimensions_gets_advice() -> None:
    """The error for a two-dimensional tensor bound as a vector says to bind one of its rows."""

    class Tensor(list[Any]):
        """A stand-in for a tensor of PyTorch, with the same form of `repr`."""

        def __repr__(self) -> str:
            return f"tensor({[*self]})"

    with pytest.raises(ValueError, match=r"its rows are vectors themselves: write array\[0\]"):
        vector_statement().bind((Tensor([[0.5, 0.25, 1.0]]),))


def test_a_list_of_vectors_in_place_of_a_vector_gets_advice() -> None:
    """The error for a list of vectors in the place of a vector says to bind one of them."""
    with pytest.raises(ValueError, match=r"its rows are vectors themselves: write array\[0\]"):
        vector_statement().bind(([[0.5, 0.25, 1.0]],))


def test_a_bound_statement_takes_the_settings_of_its_prepared_statement() -> None:
    """A setting that is not passed to BoundStatement is taken from the prepared statement."""
    statement = prepared()
    policy, other_policy = FallthroughRetryPolicy(), FallthroughRetryPolicy()
    statement.retry_policy = policy
    statement.consistency_level = ConsistencyLevel.QUORUM
    statement.serial_consistency_level = ConsistencyLevel.LOCAL_SERIAL
    statement.is_idempotent = True
    statement.fetch_size = 7
    bound = BoundStatement(statement)
    assert bound.retry_policy is policy
    assert bound.consistency_level == ConsistencyLevel.QUORUM
    assert bound.serial_consistency_level == ConsistencyLevel.LOCAL_SERIAL
    assert bound.is_idempotent is True
    assert bound.fetch_size == 7
    assert (bound.keyspace, bound.table) == ("ks", "people")
    # Arguments of the constructor replace the settings of the prepared statement.
    with_own_settings = BoundStatement(
        statement,
        retry_policy=other_policy,
        consistency_level=ConsistencyLevel.ONE,
        serial_consistency_level=ConsistencyLevel.SERIAL,
        fetch_size=3,
        keyspace="elsewhere",
    )
    assert with_own_settings.retry_policy is other_policy
    assert with_own_settings.consistency_level == ConsistencyLevel.ONE
    assert with_own_settings.serial_consistency_level == ConsistencyLevel.SERIAL
    assert (with_own_settings.fetch_size, with_own_settings.keyspace) == (3, "elsewhere")


def test_without_settings_a_bound_statement_has_none() -> None:
    """Without settings in its prepared statement, a BoundStatement has None as settings."""
    bound = BoundStatement(prepared())
    assert bound.retry_policy is None
    assert bound.consistency_level is None
    assert bound.serial_consistency_level is None


def test_a_list_for_one_marker_in_parentheses_gets_advice() -> None:
    """If a list is bound to the marker in `IN (?)`, the error recommends `IN ?`."""
    columns = [ColumnMetadata("ks", "people", "id", Int32Type)]
    text = "SELECT * FROM people WHERE id IN (?)"
    statement = PreparedStatement(columns, b"\x01", [0], text, "ks", 4, None, None)
    with pytest.raises(TypeError, match=r"write IN \?, without parentheses, to bind a list"):
        statement.bind(([1, 2],))


def test_a_value_of_a_wrong_type_gets_no_advice_for_another_mistake() -> None:
    """The error for a value of a wrong type has no advice for other mistakes."""
    with pytest.raises(TypeError, match=r"is not an integer \(in 'INSERT INTO people .*'\)$"):
        prepared().bind(("seven", "ada", None))


# -- binding again ---------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [(8,), {"id": 8}])
def test_binding_again_forgets_the_routing_key_of_the_old_values(values: Any) -> None:
    """A second `bind` gives the statement the routing key of the new values."""
    bound = prepared().bind((7,))
    assert bound.routing_key == b"\0\0\0\x07"
    assert bound.bind(values) is bound
    assert bound.routing_key == b"\0\0\0\x08"


@pytest.mark.parametrize("key", [b"own", [b"own"]])
def test_binding_again_keeps_the_application_s_routing_key(key: Any) -> None:
    """A second `bind` keeps a routing key that the application has passed or assigned.

    Such a key replaces the key that is computed from the values.
    """
    bound = BoundStatement(prepared(), routing_key=key)
    bound.bind((7,))
    assert bound.bind((8,)).routing_key == b"own"
    bound_with_computed_key = prepared().bind((7,))
    assert bound_with_computed_key.routing_key == b"\0\0\0\x07"
    bound_with_computed_key.routing_key = key
    assert bound_with_computed_key.bind((8,)).routing_key == b"own"


@pytest.mark.parametrize("copied", [lambda bound: bound, copy.deepcopy, pickled])
def test_the_routing_key_follows_the_partition_key(copied: Any) -> None:
    """If the table's partition key changes, the routing key of a bound statement changes, too.

    A routing key that the application has set is kept.
    """
    statement = prepared(key_indexes=[0, 1])
    computed: Any = statement.bind((7, "ada"))
    own = statement.bind((7, "ada"))
    own.routing_key = b"own"
    assert computed.routing_key == b"\0\4\0\0\0\7\0\0\3ada\0"
    statement.renew_key([1])
    bound = copied(computed)
    assert bound.routing_key == b"ada"
    assert tablets.token_of_statement(bound) == tablets.token_of_statement(
        statement.bind((8, "ada"))
    )
    assert copied(own).routing_key == b"own"
    statement.renew_key(None)
    assert [computed.routing_key] == [None]
    statement.renew_key([0, 1])
    assert computed.routing_key == b"\0\4\0\0\0\7\0\0\3ada\0"
    assert bound.bind((7, "bob")).routing_key in (b"bob", b"\0\4\0\0\0\7\0\0\3bob\0")


def test_values_that_cannot_be_bound_leave_values_and_routing_key() -> None:
    """If the values cannot be bound, the statement keeps its old values and routing key."""
    bound = prepared().bind((7,))
    assert bound.routing_key == b"\0\0\0\x07"
    with pytest.raises(TypeError):
        bound.bind(("x",))
    assert bound.routing_key == b"\0\0\0\x07"
    assert bound.values[0] == b"\0\0\0\x07"


# -- values that are not passed as one sequence ----------------------------------------------------


def test_values_as_separate_arguments() -> None:
    """Values as separate arguments of `bind` raise a TypeError that recommends one tuple."""
    statement: Any = prepared()
    with pytest.raises(TypeError, match=r"write bind\(\(id, name, marks\)\) \(in 'INSERT"):
        statement.bind(1, "a", [2])
    # Two rows are passed as if they were one row.
    with pytest.raises(TypeError, match=r"binds one row; .* batch\.add_many\(prepared, rows\)"):
        statement.bind((1, "a"), (2, "b"))


def test_separate_arguments_for_a_single_marker() -> None:
    """The advice for a statement with a single marker has a tuple of one element."""
    statement: Any = statement_of(name=UTF8Type)
    with pytest.raises(TypeError, match=r"write bind\(\(name,\)\)"):
        statement.bind("a", "b")


@pytest.mark.parametrize(
    ("value", "advice"), [("abc", r"\('abc',\)"), (b"abc", r"\(b'abc',\)"), (5, r"\(5,\)")]
)
def test_the_value_of_a_single_marker_alone(value: object, advice: str) -> None:
    """If the value of a single marker is not in a tuple, the error shows the tuple to write."""
    with pytest.raises(TypeError, match=f"; write {advice} "):
        statement_of(name=UTF8Type).bind(value)
    # The advice must not repeat a long value.
    with pytest.raises(TypeError, match=r"; write \(value,\) "):
        statement_of(name=UTF8Type).bind(str(value) * 70)


@pytest.mark.parametrize("values", [(1, "a"), [1, "a"], {"id": 1}])
def test_values_in_the_place_of_a_retry_policy(values: Any) -> None:
    """If values are passed as BoundStatement's retry policy, the error recommends `bind`."""
    with pytest.raises(ValueError, match=r"must implement RetryPolicy.*prepared\.bind\(values\)"):
        BoundStatement(prepared(), values)


def test_vectors_of_another_model_get_advice() -> None:
    """The error for a vector of another size recommends another column or table for such vectors.

    A table whose vectors have another number of dimensions was made for another embedding model.
    """
    prepared = statement_of(embedding=VectorType.apply_parameters([FloatType, 3]))
    with pytest.raises(ValueError, match=r"a column or table of their own, vector<float, 4>$"):
        BoundStatement(prepared).bind(([0.1, 0.2, 0.3, 0.4],))
