"""A load warns if a column cannot store the digits of a number that Python prints.

The tests cover floats for decimal columns, and long integers for double and float columns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cassandra.bulk.changed_numbers import inexact_decimal, rounded_integer
from cassandra.cluster import Cluster
from cassandra.column_encryption.policies import AES256ColumnEncryptionPolicy
from cassandra.policies import ColDesc
from cassandra.testing.fake import FakeCluster, FakeNode, Scylla

INSERT = "INSERT INTO t (id, price) VALUES (?, ?)"
# the exact value of the float that Python prints as 30.13
EXACT = "30.129999999999999005240169935859739780426025390625"


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a running node that can prepare INSERT."""
    with FakeNode() as running_node:
        running_node.prime_prepare(INSERT, [("id", "int"), ("price", "decimal")], pk_indexes=[0])
        yield running_node


def warnings_of_load(node: FakeNode, source: Any) -> list[str]:
    """Load the source, and return the messages of all warnings, which must name this file."""
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        with warnings.catch_warnings(record=True) as records:
            warnings.simplefilter("always")
            session.load(session.prepare(INSERT), source)
    assert all(record.filename == __file__ for record in records)
    return [str(record.message) for record in records]


def test_floats_whose_printed_digits_are_not_exact() -> None:
    """`inexact_decimal` returns the exact value of a float that Python prints with rounded digits.

    It returns None for all other values.
    """
    assert inexact_decimal(30.13) == Decimal(EXACT)
    for other in (0.5, 3.0, 1e300 * 1e10, float("nan"), Decimal("30.13"), 30, "30.13", None):
        assert inexact_decimal(other) is None


def test_floats_of_numpy() -> None:
    """`inexact_decimal` returns the exact value of a numpy float that is printed rounded.

    The function returns None for floats that are printed exactly, and for arrays.
    """
    numpy = pytest.importorskip("numpy")
    assert inexact_decimal(numpy.float64(30.13)) == Decimal(EXACT)
    # A float of 32 bits is printed with fewer digits, and its exact value is further away from
    # these digits.
    assert inexact_decimal(numpy.float32(30.13)) == Decimal(float(numpy.float32(30.13)))
    assert inexact_decimal(numpy.float32(0.5)) is None
    assert inexact_decimal(numpy.array([30.13, 1.0])) is None


@pytest.mark.parametrize("as_mappings", [False, True])
def test_rows_warn_once_for_a_column(node: FakeNode, as_mappings: bool) -> None:
    """A load warns once per decimal column that floats are stored as their exact binary values.

    The warning shows how to store the printed digits instead.
    """
    rows: list[Any] = [(0, None), (1, 0.5), (2, 30.13), (3, 30.14)]
    if as_mappings:
        rows = [{"id": id, "price": price} for id, price in rows]
    (message,) = warnings_of_load(node, rows)
    assert message == (
        "column 'price' is a decimal, and the source has floats: 30.13 is stored as "
        f"{EXACT}; to store the digits that you see, write Decimal(str(value)) for each value, "
        "Decimal('30.13') here"
    )
    assert warnings_of_load(node, [(2, Decimal("30.13")), (3, 5)]) == []


def test_frames_warn_with_what_to_write(node: FakeNode) -> None:
    """A data frame's warning ends with an expression that you can assign to the column instead."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": [1, 2, 3], "price": [None, 0.5, 30.13]})
    (message,) = warnings_of_load(node, frame)
    prefix, advice = message.split(", write ")
    assert f"30.13 is stored as {EXACT}" in prefix
    # In the expression, `frame` is the data frame.
    frame["price"] = eval(advice, {"frame": frame, "Decimal": Decimal})
    assert warnings_of_load(node, frame) == []


def test_arrow_parquet_and_structured_arrays_warn(node: FakeNode, tmp_path: Path) -> None:
    """A load of arrays, Arrow tables or Parquet files warns of floats for a decimal column.

    There is no warning if the source has decimals.
    """
    numpy = pytest.importorskip("numpy")
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    array = numpy.array([(1, 30.13)], dtype=[("id", "i4"), ("price", "f8")])
    table = pyarrow.table({name: array[name] for name in array.dtype.names})
    path = tmp_path / "prices.parquet"
    parquet.write_table(table, path)
    for source in (array, table, path, {"id": [1], "price": array["price"]}):
        (message,) = warnings_of_load(node, source)
        assert message.startswith("column 'price' is a decimal, and the source has floats: 30.13")
    exact = table.set_column(1, "price", pyarrow.array([Decimal("30.13")]))
    assert warnings_of_load(node, exact) == []


@pytest.mark.parametrize("encoding", ["dictionary", "runs", "list"])
def test_numbers_inside_other_values_warn(node: FakeNode, encoding: str) -> None:
    """A load warns of numbers in dictionaries, runs and collections like of plain numbers."""
    pyarrow, pandas = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")

    def sources(numbers: list[Any]) -> Iterator[Any]:
        """Yield tables, a mapping of columns, and rows with these numbers."""
        prices = pyarrow.array(numbers)
        if encoding == "dictionary":
            prices = prices.dictionary_encode()
        elif encoding == "runs":
            if not hasattr(pyarrow, "RunEndEncodedArray"):
                pytest.skip(f"pyarrow {pyarrow.__version__} has no runs")
            # pyarrow 15 accepts only a list of ends, not an array.
            ends = list(range(1, len(numbers) + 1))
            prices = pyarrow.RunEndEncodedArray.from_arrays(ends, prices)
        else:
            lists = [[number] for number in numbers]
            yield list(enumerate(lists))
            yield pandas.DataFrame({"id": range(len(lists)), "price": lists})
            prices = pyarrow.array(lists)
        columns = {"id": pyarrow.array(range(len(numbers))), "price": prices}
        yield columns
        yield pyarrow.table(columns)

    for type_name, numbers in (("decimal", [0.5, 30.13]), ("double", [5, 2**53 + 1])):
        is_list = encoding == "list"
        column_type = f"list<{type_name}>" if is_list else type_name
        node.prime_prepare(INSERT, [("id", "int"), ("price", column_type)], pk_indexes=[0])
        description = f"has values of type {type_name}" if is_list else f"is a {type_name}"
        for source in sources(numbers):
            (message,) = warnings_of_load(node, source)
            assert message.startswith(f"column 'price' {description}, ")
            assert f"{numbers[1]} is stored as " in message
            assert "frame[" not in message
        for source in sources(numbers[:1]):
            assert warnings_of_load(node, source) == []


def test_integers_that_floats_round() -> None:
    """`rounded_integer` returns the number that a double or float would store for such an integer.

    The function returns None for integers that are stored exactly, and for other values.
    """
    assert rounded_integer(2**53 + 1, "double") == 2**53
    assert rounded_integer(-(2**24) - 1, "float") == -(2**24)
    for other in (2**53, 2**60, -5, True, 10**400, 0.1, float(2**53), "9007199254740993", None):
        assert rounded_integer(other, "double") is None
    assert rounded_integer(2**24 + 1, "double") is None
    # Binding refuses this number, because it is too large for a float.
    assert rounded_integer(2**130 - 1, "float") is None


@pytest.mark.parametrize("kind", ["rows", "mappings", "pandas", "arrow", "array"])
def test_integers_of_many_digits_for_doubles_warn_once(node: FakeNode, kind: str) -> None:
    """A load warns once of integers that a double column rounds, such as the identifier 2**53 + 1.

    Without the warning, the application would not notice that it reads other numbers.
    """
    node.prime_prepare(INSERT, [("id", "int"), ("price", "double")], pk_indexes=[0])

    def source(*prices: int) -> Any:
        """Return rows with the ids 0, 1, ... and these prices, as an object of the tested kind."""
        pairs = list(enumerate(prices))
        if kind == "rows":
            return pairs
        if kind == "mappings":
            return [{"id": id, "price": price} for id, price in pairs]
        if kind == "array":
            numpy = pytest.importorskip("numpy")
            return numpy.array(pairs, dtype=[("id", "i4"), ("price", "i8")])
        columns = {"id": range(len(prices)), "price": prices}
        if kind == "pandas":
            return pytest.importorskip("pandas").DataFrame(columns)
        return pytest.importorskip("pyarrow").table(columns)

    (message,) = warnings_of_load(node, source(5, 2**53 + 1, 2**53 + 3))
    assert message == (
        "column 'price' is a double, which rounds integers of so many digits: 9007199254740993 is "
        "stored as 9007199254740992; a column of bigint, varint or decimal keeps all digits"
    )
    # A double stores all integers up to 2**53 without rounding.
    assert warnings_of_load(node, source(5, 2**53, -1)) == []


@pytest.mark.parametrize(
    "make_source",
    [
        lambda: [{"k": 1, "d": 777.77, "t": 1_777_777_777}],
        lambda: pytest.importorskip("pandas").DataFrame(
            {"k": [1], "d": [777.77], "t": [1_777_777_777]}
        ),
    ],
)
def test_values_of_encrypted_columns_are_not_shown(make_source: Callable[[], Any]) -> None:
    """There are no warnings of numbers in encrypted columns, because they would show a value."""
    policy = AES256ColumnEncryptionPolicy()
    for name, cql_type in (("d", "decimal"), ("t", "timestamp")):
        policy.add_column(ColDesc("ks", "t", name), b"k" * 32, cql_type)
    with FakeCluster(1, scylla=Scylla(shards=1)) as nodes:
        nodes.scylla.keyspace("ks", replication_factor=1)
        nodes.scylla.table("ks", "t", {"k": "int", "d": "blob", "t": "blob"})
        settings: Any = {"port": nodes.port, "column_encryption_policy": policy}
        with (
            Cluster(nodes.contact_points, **settings) as cluster,
            cluster.connect() as session,
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            assert session.load("ks.t", make_source()).written == 1
    assert [str(warning.message) for warning in caught if "777" in str(warning.message)] == []
