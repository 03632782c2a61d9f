"""Test the mapper's columns for lists, sets, maps, tuples, vectors and user-defined types."""

from __future__ import annotations

import array
from typing import Any

import pytest

from cassandra.cqlengine import CQLEngineException, ValidationError, columns as c, models
from cassandra.cqlengine.clauses import ListUpdateClause, MapUpdateClause, SetUpdateClause
from cassandra.cqlengine.columns import containers
from cassandra.cqlengine.usertype import UserType
from cassandra.util.orderedmap import OrderedMap
from cassandra.util.sortedset import SortedSet
from tests.unit.cqlengine.columns.test_base import named
from tests.unit.cqlengine.test_usertype import Address

# Each tuple has a column and the CQL type that the mapper declares for it.
TYPES = [
    (c.List(c.Integer), "list<int>"),
    (c.List(c.Set(c.Text)), "list<frozen<set<text>>>"),
    (c.Map(c.Text, c.List(c.Integer), frozen=True), "frozen<map<text, frozen<list<int>>>>"),
    (c.Tuple(c.Text, c.Tuple(c.Integer)), "tuple<text, frozen<tuple<int>>>"),
    (c.UserDefinedType(Address), "frozen<address>"),
    (c.List(c.UserDefinedType(Address)), "list<frozen<address>>"),
    (c.Vector(c.Float, 3), "vector<float, 3>"),
    (c.Bytes(), "blob"),
    (c.DateTime(), "timestamp"),
]


@pytest.mark.parametrize(("column", "cql_type"), TYPES, ids=lambda value: repr(value)[:40])
def test_types(column: c.Column[Any], cql_type: str) -> None:
    """Each column has the expected CQL type, in its attributes and in its definition."""
    assert named(column).db_type == cql_type
    assert column.cql_type == cql_type
    assert column.get_column_def() == f'"column" {cql_type}'


def test_inner_user_defined_types_are_listed_first() -> None:
    """`resolve_udts` lists a user-defined type before the types that contain this type."""

    class Outer(UserType):
        inner = c.List(c.UserDefinedType(Address))

    types: list[Any] = []
    c.resolve_udts(c.Map(c.Text, c.UserDefinedType(Outer)), types)
    assert types == [Address, Outer]


# A model with a column of each class of collections.
class Collections(models.Model):
    __keyspace__ = "ks"
    key = c.Integer(primary_key=True)
    list = c.List(c.Text)
    blobs = c.List(c.Blob)
    numbers = c.List(c.Integer)
    set = c.Set(c.Text)
    map = c.Map(c.Text, c.Text)
    tuple = c.Tuple(c.Text, c.Text)
    udt = c.UserDefinedType(Address)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("list", "abc", "Collections.list 'abc' is a str, not a list: write ['abc']"),
        ("list", "", "Collections.list '' is a str, not a list: write ['']"),
        ("blobs", b"abc", "Collections.blobs b'abc' is a bytes, not a list: write [b'abc']"),
        (
            "numbers",
            bytearray(b"a"),
            "Collections.numbers bytearray(b'a') is a bytearray, not a list: "
            "write [bytearray(b'a')]",
        ),
        ("set", "abc", "Collections.set 'abc' is a str, not a set: write {'abc'}"),
        ("map", "abc", "Collections.map 'abc' is not a dict object"),
        ("tuple", "ab", "Collections.tuple 'ab' is a str, not a tuple: write ('ab',)"),
        ("udt", "ab", "Collections.udt 'ab' is not a value of Address"),
    ],
)
def test_a_string_is_not_a_collection(name: str, value: Any, message: str) -> None:
    """A string is not accepted as a collection, when an instance is created or validated."""
    with pytest.raises(ValidationError) as refused:
        Collections(key=1, **{name: value})
    assert str(refused.value) == message
    row = Collections(key=1)
    setattr(row, name, value)
    with pytest.raises(ValidationError) as refused:
        row.validate()
    assert str(refused.value) == message


# -- declarations ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: c.List(5), "the elements of List are columns, not 5"),  # type: ignore[arg-type]
        (lambda: c.List(c.Column), "the elements of List need a type"),
        (lambda: c.Set(c.Counter), "counters cannot be elements"),
    ],
)
def test_elements_are_columns_with_a_type_and_no_counters(make: Any, message: str) -> None:
    """The elements of a collection are columns that have a type and are not counters."""
    with pytest.raises(ValidationError, match=message):
        make()


def test_a_tuple_has_elements() -> None:
    """`Tuple` without columns for its elements raises ValueError."""
    with pytest.raises(ValueError, match="Tuple needs the columns of its elements"):
        c.Tuple()


@pytest.mark.parametrize("dimension", [0, -1, True, 1.5, "3", None])
def test_the_dimension_of_a_vector_is_a_positive_int(dimension: Any) -> None:
    """A dimension of a vector that is not a positive integer raises ValueError."""
    with pytest.raises(ValueError, match="the dimension of a vector is a number from 1 on"):
        c.Vector(c.Float, dimension)


def test_the_similarity_of_a_vector_is_in_its_index() -> None:
    """The similarity function of a vector is an option of its index, or ValueError is raised."""
    assert c.Vector(c.Float, 1).index_options() == ""
    for similarity in ("cosine", "dot_product", "euclidean"):
        options = c.Vector(c.Float, 1, similarity).index_options()
        assert options == f" WITH OPTIONS = {{'similarity_function': '{similarity}'}}"
    with pytest.raises(ValueError, match="is one of cosine, dot_product, euclidean, not 'angle'"):
        c.Vector(c.Float, 1, "angle")


@pytest.mark.parametrize(
    ("column", "clause_for_parts"),
    [
        (c.Set(c.Text), SetUpdateClause),
        (c.List(c.Text), ListUpdateClause),
        (c.Map(c.Text, c.Text), MapUpdateClause),
        (c.Set(c.Text, frozen=True), None),
        (c.List(c.Text, frozen=True), None),
        (c.Map(c.Text, c.Text, frozen=True), None),
    ],
)
def test_only_collections_that_are_not_frozen_change_in_part(
    column: Any, clause_for_parts: Any
) -> None:
    """Only collections that are not frozen have an update clause for single elements.

    All other columns have the clause that assigns the whole value, like scalars.
    """
    clause_for_whole_values = c.Text().update_clause
    assert column.update_clause is (clause_for_parts or clause_for_whole_values)


def test_errors_of_elements_name_the_column_that_contains_them() -> None:
    """The error for an element names the column of the collection."""
    with pytest.raises(ValidationError, match=r"Collections\.numbers"):
        Collections(key=1, numbers=["x"]).validate()


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        (c.Set(c.Integer), {"1", 2}, {1, 2}),
        (c.Set(c.Integer), frozenset({1}), {1}),
        (c.Set(c.Integer), SortedSet([2, 1]), {1, 2}),
        (c.Set(c.Integer, strict=False), [1, 1], {1}),
        (c.Set(c.Integer, strict=False), (1,), {1}),
        (c.List(c.Integer), ["1", 2], [1, 2]),
        (c.List(c.Integer), (1,), [1]),
        (c.List(c.Integer), SortedSet([2, 1]), [1, 2]),
        (c.Map(c.Text, c.Integer), {"a": "1"}, {"a": 1}),
        (c.Map(c.Text, c.Integer), OrderedMap([("a", 1)]), {"a": 1}),
        (c.Tuple(c.Integer, c.Text), ["1", None], (1, None)),
        (c.Tuple(c.Integer, c.Text), (1,), (1,)),
        (c.Vector(c.Float, 2), [1, 2.5], [1, 2.5]),
        (c.Vector(c.Text, 1), ("a",), ["a"]),
        *[
            (column, None, None)
            for column in (
                c.Set(c.Text),
                c.List(c.Text),
                c.Map(c.Text, c.Text),
                c.Tuple(c.Text),
                c.Vector(c.Float, 2),
                c.UserDefinedType(Address),
            )
        ],
    ],
)
def test_validation_converts_elements(column: Any, value: Any, expected: Any) -> None:
    """`validate` converts each element of a collection, and returns the column's Python type."""
    validated = named(column).validate(value)
    assert validated == expected
    assert type(validated) is type(expected)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (c.Set(c.Integer), [1], "is not a set object"),
        (c.Set(c.Integer), {"a": 1}, "is not a set object"),
        (c.Set(c.Integer, strict=False), 5, "cannot be coerced to a set object"),
        (c.Set(c.Integer), {None}, "None is not allowed as an element"),
        (c.List(c.Integer), 5, "is not a list object"),
        (c.List(c.Integer), {"a": 1}, "is not a list object"),
        (c.List(c.Integer), [None], "None is not allowed as an element"),
        (c.List(c.Integer), ["x"], "'x'"),
        (c.Map(c.Text, c.Integer), [("a", 1)], "is not a dict object"),
        (c.Map(c.Text, c.Integer), {None: 1}, "None is not allowed as a key"),
        (c.Map(c.Text, c.Integer, frozen=True), {"a": None}, "None is not allowed as a value"),
        (c.List(c.Map(c.Text, c.Integer)), [{"a": None}], "None is not allowed as a value"),
        (c.Tuple(c.Integer), 5, "is not a tuple"),
        (c.Tuple(c.Integer), (1, 2), "has 2 elements, but tuple<int> has 1"),
        (c.Vector(c.Float, 2), [1.0], "has 1 elements, but its dimension is 2"),
        (c.Vector(c.Float, 2), {0: 1.0, 1: 2.0}, "is not a vector"),
        (c.Vector(c.Float, 2), "ab", "is not a vector"),
        (c.Vector(c.Float, 2), 5, "is not a vector"),
        (c.Vector(c.Float, 2), [1.0, None], "None is not allowed as an element"),
        (c.Vector(c.Text, 1), [None], "None is not allowed as an element"),
        (c.UserDefinedType(Address), 5, "is not a value of Address"),
    ],
)
def test_values_that_do_not_fit_are_refused(column: Any, value: Any, message: str) -> None:
    """The error for a collection that does not fit says why."""
    with pytest.raises(ValidationError, match=message):
        named(column).validate(value)


def test_a_map_takes_none_unless_it_is_written_as_a_part_of_another_value() -> None:
    """A map column accepts None as a value for a key, but a map inside another value does not.

    An UPDATE can assign null to a single key, but servers refuse nulls within a value.
    """
    assert named(c.Map(c.Text, c.Integer)).validate({"a": None, "b": 1}) == {"a": None, "b": 1}

    class WithMap(UserType):
        scores = c.Map(c.Text, c.Integer)

    with pytest.raises(ValidationError, match="None is not allowed as a value"):
        named(c.UserDefinedType(WithMap)).validate(WithMap(scores={"a": None}))


@pytest.mark.parametrize(
    ("column", "collection_of"),
    [
        (c.Set(c.Integer), set),
        (c.List(c.Integer), list),
        (c.Map(c.Integer, c.Integer), lambda numbers: {number: number for number in numbers}),
    ],
)
def test_the_number_of_elements_is_limited(
    monkeypatch: pytest.MonkeyPatch, column: Any, collection_of: Any
) -> None:
    """A collection with more than MOST_ELEMENTS elements is refused."""
    monkeypatch.setattr(containers, "MOST_ELEMENTS", 3)
    assert len(named(column).validate(collection_of(range(3)))) == 3
    with pytest.raises(ValidationError, match="has 4 elements; a collection can have 3"):
        named(column).validate(collection_of(range(4)))


@pytest.mark.parametrize(
    ("column", "value_of_row", "value"),
    [
        (c.Set(c.Integer), None, set()),
        (c.List(c.Integer), None, []),
        (c.Map(c.Text, c.Integer), None, {}),
        (c.Tuple(c.Integer), None, None),
        (c.Vector(c.Float, 1), None, None),
        (c.UserDefinedType(Address), None, None),
        (c.Set(c.Integer), SortedSet([2, 1]), {1, 2}),
        (c.List(c.Integer), (1, 2), [1, 2]),
        (c.Map(c.Text, c.List(c.Integer)), {"a": None}, {"a": []}),
        (c.Tuple(c.List(c.Integer), c.Integer), (None, None), ([], None)),
        (c.Vector(c.Float, 2), (1.0, 2.0), [1.0, 2.0]),
        (c.Vector(c.UserDefinedType(Address), 1), [("a", 1)], [Address(street="a", number=1)]),
        (c.Vector(c.Vector(c.List(c.Integer), 1), 1), [[(1, 2)]], [[[1, 2]]]),
        (c.UserDefinedType(Address), ("a", 1), Address(street="a", number=1)),
    ],
)
def test_values_of_rows_become_those_of_instances(
    column: Any, value_of_row: Any, value: Any
) -> None:
    """`to_python` converts a value that was read to the Python type of instances."""
    value_read = named(column).to_python(value_of_row)
    assert value_read == value
    assert type(value_read) is type(value)


def test_values_of_rows_that_are_no_collections_are_refused() -> None:
    """`to_python` refuses values that are not collections."""
    for column in (c.Set(c.Text), c.List(c.Text)):
        with pytest.raises(ValidationError, match="is not a collection"):
            named(column).to_python(5)
        with pytest.raises(ValidationError, match="is a str, not a"):
            named(column).to_python("ab")
    with pytest.raises(ValidationError, match="is not a dict object"):
        named(c.Map(c.Text, c.Text)).to_python([("a", "b")])


class Shouting(c.Text):
    """A text column that converts its values to upper case for the database."""

    def to_database(self, value: Any) -> Any:
        return None if value is None else value.upper()


@pytest.mark.parametrize(
    ("make", "value", "expected"),
    [
        (c.Set, {"a"}, {"A"}),
        (c.List, ["a"], ["A"]),
        (lambda column: c.Map(column, column), {"a": "b", "c": None}, {"A": "B", "C": None}),
        (lambda column: c.Tuple(column, column), ("a", None), ("A", None)),
        (lambda column: c.Tuple(column, column), (), None),
        (lambda column: c.Vector(column, 1), ["a"], ["A"]),
    ],
)
def test_elements_are_converted_for_the_database_only_if_needed(
    make: Any, value: Any, expected: Any
) -> None:
    """`to_database` converts each element only if the column of the elements needs it.

    `wire` is the conversion of the elements. If it is None, the value is sent unchanged.
    """
    column = named(make(Shouting))
    assert column.to_database(value) == expected
    assert column.to_database(None) is None
    assert column.wire is not None
    assert named(make(c.Text)).wire is None


class Shifted(c.Integer):
    """A number to which 100 is added for the database, and taken away again for the instance."""

    def to_python(self, value: Any) -> Any:
        return value - 100

    def to_database(self, value: Any) -> Any:
        return value + 100


@pytest.mark.parametrize("make", [c.List, lambda column: c.Vector(column, 2)])
def test_elements_of_own_columns_are_converted_in_both_directions(make: Any) -> None:
    """Lists and vectors convert elements by an application's column, to and from the database."""
    column = named(make(Shifted))
    for value in ([1, 2], (1, 2), array.array("i", [1, 2])):
        assert column.wire is not None
        assert column.to_database(value) == [101, 102]
    assert column.to_python([101, 102]) == [1, 2]
    assert column.converts


@pytest.mark.parametrize(
    ("column", "value", "is_null"),
    [
        (c.Set(c.Text), set(), True),
        (c.Set(c.Text), {"a"}, False),
        (c.List(c.Text, frozen=True), [], True),
        (c.Map(c.Text, c.Text), {}, True),
        (c.Map(c.Text, c.Text), {"a": "b"}, False),
        (c.List(c.Text), None, True),
        (c.List(c.Text), 5, False),
        (c.Tuple(c.Text), (), True),
        (c.Tuple(c.Text), None, True),
        (c.Tuple(c.Text), (None,), False),
    ],
)
def test_an_empty_collection_is_null(column: Any, value: Any, is_null: bool) -> None:
    """An empty collection counts as null, because servers store it as null."""
    assert column.is_null(value) is is_null


# -- copies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "value", "change"),
    [
        (c.Set(c.Text), {"a"}, lambda value: value.add("b")),
        (c.List(c.Text), ["a"], lambda value: value.append("b")),
        (c.List(c.List(c.Text)), [["a"], None], lambda value: value[0].append("b")),
        (c.Map(c.Text, c.Text), {"a": "b"}, lambda value: value.update(c="d")),
        (
            c.Map(c.Text, c.List(c.Text)),
            {"a": ["b"], "c": None},
            lambda value: value["a"].append("c"),
        ),
        (c.Tuple(c.List(c.Text), c.Text), (["a"], None), lambda value: value[0].append("b")),
        (c.Vector(c.Float, 1), [1.0], lambda value: value.append(2.0)),
        (c.Vector(c.List(c.Text), 1), [["a"]], lambda value: value[0].append("b")),
    ],
)
def test_a_copy_of_a_value_changes_by_itself(column: Any, value: Any, change: Any) -> None:
    """A copy from `_copier` can be changed without changing the original."""
    copier = named(column)._copier()
    duplicate, expected_original = copier(value), copier(value)
    assert duplicate == value
    assert type(duplicate) is type(value)
    change(duplicate)
    assert duplicate != value
    assert value == expected_original


def test_values_that_never_change_need_no_copy() -> None:
    """`_copier` returns None if values of the column cannot be changed in place.

    Otherwise it returns a function, which returns None for None.
    """
    assert named(c.Tuple(c.Text, c.Integer))._copier() is None
    assert named(c.Tuple(c.List(c.Text)))._copier()(None) is None
    assert named(c.Vector(c.Float, 1))._copier()(None) is None
    assert named(c.UserDefinedType(Address))._copier()(None) is None


# Type checkers refuse the calls below.
untyped: Any = c


class Home(UserType):
    street = c.Text()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: untyped.List(), "List() needs value_type: write columns.List(columns.Text)"),
        (
            lambda: untyped.Set(required=True),
            "Set() needs value_type: write columns.Set(columns.Text)",
        ),
        (
            lambda: untyped.Map(c.Text),
            "Map() needs value_type: write columns.Map(columns.Text, columns.Integer)",
        ),
        (
            lambda: untyped.Vector(),
            "Vector() needs value_type and dimension: write columns.Vector(columns.Float, 768)",
        ),
        (
            lambda: untyped.UserDefinedType(),
            "needs user_type: write columns.UserDefinedType(Address)",
        ),
        (
            lambda: untyped.UserDefinedType("home"),
            "not 'home': write columns.UserDefinedType(Address)",
        ),
    ],
)
def test_columns_without_their_types(build: Any, message: str) -> None:
    """The error for a collection column without element types shows how to write them."""
    with pytest.raises(TypeError) as refused:
        build()
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("element", "advice"),
    [
        (str, ": write columns.Text"),
        (int, ": write columns.Integer"),
        ("text", ": write columns.Text"),
        (Home, ": write columns.UserDefinedType(Home)"),
        (complex, ", such as columns.Text"),
    ],
)
def test_elements_that_are_no_columns(element: Any, advice: str) -> None:
    """The error for a Python type or a CQL type as an element names the column class to write."""
    with pytest.raises(ValidationError) as refused:
        c.List(element)
    assert str(refused.value) == f"the elements of List are columns, not {element!r}{advice}"


class Unsized:
    """A class with the methods of a collection, which raise TypeError.

    NumPy arrays without dimensions are such objects.
    """

    def __len__(self) -> int:
        raise TypeError("len() of unsized object")

    def __iter__(self) -> Any:
        raise TypeError("iteration over a 0-d array")

    def __contains__(self, item: object) -> bool:
        raise TypeError


@pytest.mark.parametrize(
    "column",
    [
        c.List(c.Integer),
        c.Set(c.Integer),
        c.Map(c.Text, c.Integer),
        c.Tuple(c.Integer),
        c.Vector(c.Float, 1),
        c.Vector(c.Text, 1),
    ],
    ids=lambda column: column.db_type,
)
def test_objects_without_elements_are_refused(column: c.Column[Any]) -> None:
    """A value that only seems to be a collection is refused, and is not null."""
    column = named(column)
    for value in (Unsized(), 5):
        assert not column.is_null(value)
        with pytest.raises(ValidationError):
            column.validate(value)
        if not isinstance(column, c.Vector):  # whose values are arrays of any class
            with pytest.raises(ValidationError):
                column.to_python(value)


def test_in_and_remove_refuse_objects_without_elements() -> None:
    """IN and the removal of keys from a map need values that have elements."""
    with pytest.raises(CQLEngineException, match="IN takes a list of values"):
        Collections.objects.filter(key__in=Unsized())
    with pytest.raises(ValidationError, match="not a set of keys"):
        Collections.objects(key=1).update(map__remove=Unsized())
    assert containers.removed_keys(c.Map(c.Text, c.Text), (key for key in "ab")) == {"a", "b"}


@pytest.mark.usefixtures("session")
def test_a_wrong_value_counts_as_a_change() -> None:
    """`get_changed_columns` names a column with a value that `save` will refuse."""
    wrong: Any
    for wrong in (5, Unsized()):
        collections = Collections.create(key=1)
        collections.tuple = wrong
        collections.list = wrong
        assert collections.get_changed_columns() == ["list", "tuple"]
        with pytest.raises(ValidationError):
            collections.save()
