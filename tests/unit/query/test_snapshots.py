"""Test `snapshot`, which copies rows that are bound later.

The copy is made when the application calls the driver, so later changes by the application have no
effect.
"""

from __future__ import annotations

import array
import collections
import ctypes
import dataclasses
import enum
import itertools
import mmap
import types
from collections.abc import Callable
from typing import Any, ClassVar

import attrs
import msgspec
import numpy
import pandas
import polars
import pyarrow
import pydantic
import pytest

from cassandra.client.user_types import UserTypes
from cassandra.cqlengine import columns
from cassandra.cqlengine.usertype import UserType
from cassandra.metadata import Metadata
from cassandra.query import BatchStatement
from cassandra.query.snapshots import snapshot
from cassandra.util import OrderedMap, SortedSet

Pair = collections.namedtuple("Pair", "k v")


@dataclasses.dataclass(frozen=True, slots=True)
class Slots:
    k: int
    v: list[int]


class Plain:
    """An object whose attributes are bound by their names."""

    def __init__(self, v: list[int]) -> None:
        self.k = 1
        self.v = v


class Colour(enum.Enum):
    RED = [1]


class Uncopied:
    """A row that refuses to be copied."""

    k = 1

    def __init__(self) -> None:
        self.v = 1

    def __copy__(self) -> Uncopied:
        raise RuntimeError("not copied")


@pytest.mark.parametrize(
    "make_row",
    [
        lambda v: [1, v],
        lambda v: (1, v),
        lambda v: {"k": 1, "v": v},
        lambda v: collections.OrderedDict(k=1, v=v),
        lambda v: types.MappingProxyType({"k": 1, "v": v}),
        lambda v: Pair(1, v),
        lambda v: Slots(1, v),
        Plain,
        lambda v: [1, {"x": (v,)}],
        lambda v: collections.deque([1, v]),
    ],
)
def test_changing_a_collection_inside_a_row_does_not_affect_the_copy(make_row: Any) -> None:
    """If a collection within a row is changed after `snapshot`, the copy does not change."""

    def content_of(row: Any) -> str:
        """Return a string with the row's content, which can be compared for all classes."""
        return repr(vars(row)) if isinstance(row, Plain) else repr(row)

    items = [5]
    row = make_row(items)
    copied = snapshot(row)
    content_before = content_of(copied)
    items.append(6)
    assert content_of(copied) == content_before
    # A mapping proxy is copied to a dict, which is bound in the same way. All other rows keep their
    # class.
    if not isinstance(row, types.MappingProxyType):
        assert type(copied) is type(row)


def test_mutable_rows_and_values_are_copied() -> None:
    """`snapshot` copies mutable rows and mutable values."""
    for row in ([1], {"a": 1}, {1}, bytearray(b"a"), SortedSet([1]), numpy.array([1])):
        copied = snapshot(row)
        assert copied is not row
        assert list(copied) == list(row)
    buffer = bytearray(b"a")
    (copied,) = snapshot([memoryview(buffer)])
    buffer[:] = b"b"
    assert copied == b"a"
    # The keys of an OrderedMap need not be hashable.
    assert snapshot([OrderedMap([([1], 2)])]) == [OrderedMap([([1], 2)])]


def test_immutable_and_unknown_values_are_not_copied() -> None:
    """`snapshot` returns immutable values, and values that it does not know, without a copy."""
    constant = object()
    for row in ((1, "a", None), "abc", Colour.RED, constant, int, Uncopied()):
        assert snapshot(row) is row
    assert snapshot([constant])[0] is constant


# -- graphs of objects -----------------------------------------------------------------------------


class Order:
    """An order, which refers back to its user, so that the two objects form a cycle."""

    def __init__(self, user: Any, number: int) -> None:
        self.user = user
        self.number = number


class User:
    """A user with orders."""

    def __init__(self, count: int) -> None:
        self.id = 7
        self.tags = ["a"]
        self.orders = [Order(self, number) for number in range(count)]


@dataclasses.dataclass(eq=False)
class Node:
    name: str
    parent: Node | None = None
    children: list[Node] = dataclasses.field(default_factory=list)


def test_a_row_with_back_references_is_copied_at_once() -> None:
    """A user whose orders refer back to the user is copied, without a search for more objects."""
    user = User(30)
    copied = snapshot(user)
    user.tags.append("b")
    user.orders.clear()
    assert type(copied) is User
    assert copied.id == 7
    assert copied.tags == ["a"]
    assert len(copied.orders) == 30
    # The user to which an order refers is neither copied nor searched, so it is the original.
    assert copied.orders[0].user is user
    (order,) = snapshot([Order(user, 1)])
    assert order.user is user


class Untouchable:
    """An object such as a session, which must be neither copied nor searched."""

    def __init__(self) -> None:
        self.pools = [self]

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise AssertionError("copied")

    def __getattribute__(self, name: str) -> Any:
        if name in ("pools", "__dict__"):
            raise AssertionError("searched")
        return super().__getattribute__(name)


def test_an_object_that_a_row_holds_is_used_as_it_is() -> None:
    """An object of an unknown class that a row or collection contains is not copied."""
    session = Untouchable()
    user = User(1)
    user.session = session  # type: ignore[attr-defined]
    assert snapshot(user).session is session
    assert snapshot([session])[0] is session
    assert snapshot(collections.OrderedDict(session=session))["session"] is session
    assert snapshot(collections.UserDict(session=session))["session"] is session
    assert snapshot(collections.deque([session]))[0] is session

    # The items of a list are copied, but an attribute that a subclass of list adds refers to the
    # same object as before.
    class Owned(list[Any]):
        owner: Any

    owned = Owned([[1]])
    owned.owner = session
    (copied,) = snapshot([owned])
    owned[0].append(2)
    assert type(copied) is Owned
    assert copied == [[1]]
    assert copied.owner is session


def test_a_cyclic_graph_of_dataclasses_is_copied_once() -> None:
    """In a cyclic graph of dataclasses, each object is copied once, and the copies form a cycle."""
    parent = Node("parent")
    parent.children = [Node(str(number), parent) for number in range(30)]
    for child in parent.children:
        child.children = parent.children
    copied = snapshot(parent)
    parent.children[0].name = "changed"
    parent.children.pop()
    assert copied is not parent
    assert [child.name for child in copied.children] == [str(number) for number in range(30)]
    assert {child.parent for child in copied.children} == {copied}
    assert copied.children[3].children is copied.children


def test_collections_that_hold_themselves_are_copied() -> None:
    """Collections that contain themselves are copied, and the copies contain themselves."""
    items: list[Any] = [1]
    items.append((items, {"items": items}))
    copied = snapshot(items)
    items[0] = 2
    assert copied[0] == 1
    assert copied[1][0] is copied
    assert copied[1][1]["items"] is copied


def test_a_row_of_any_depth_is_copied() -> None:
    """Rows that are nested more deeply than Python's recursion limit are copied."""
    first = last = Node("first")
    nested: list[Any] = []
    # The objects are nested 5000 levels deep, more than Python's recursion limit allows.
    for number in range(5000):
        nested = [nested]
        last.children = [Node(str(number))]
        last = last.children[0]
    assert snapshot(first).children[0].children[0].name == "1"
    assert len(snapshot(nested)) == 1


def test_a_batch_takes_a_node_with_parent_and_children() -> None:
    """A batch takes rows that refer to their parent, which refers to all rows."""
    root = Node("root")
    root.children = [Node(str(number), root) for number in range(30)]
    batch = BatchStatement()
    for child in root.children:
        batch.add("INSERT INTO t (name, parent) VALUES (:name, :parent)", child)
    root.children[0].name = "changed"
    rows = [row for entry in batch.sealed_entries() for row in entry.rows]  # type: ignore[union-attr]
    assert [row.name for row in rows] == [str(number) for number in range(30)]


@attrs.define
class Attrs:
    v: list[int]


class Model(pydantic.BaseModel):
    v: list[int]


class Struct(msgspec.Struct, frozen=True):
    v: list[int]


class Mapped(UserType):
    v = columns.List(columns.Integer())


class Registered:
    """An application's class for a user-defined type."""

    def __init__(self, v: list[int]) -> None:
        self.v = v


class Unregistered(Registered):
    pass


@pytest.mark.parametrize(
    "make_value",
    [
        Attrs,
        lambda v: Model(v=v),
        Struct,
        Registered,
        # This is a subclass of a registered class.
        Unregistered,
        lambda v: Mapped(v=v),
        lambda v: Slots(1, v),
    ],
)
def test_values_with_declared_fields_are_copied(make_value: Any) -> None:
    """Within a row, values of classes with declared fields are copied.

    These are attrs, pydantic, msgspec and registered classes, and dataclasses with slots.
    """
    # Register the class for a user-defined type, as an application does.
    UserTypes(Metadata()).add("ks", "registered", Registered)
    value = make_value([1])
    row = [1, {"x": value}]
    copied = snapshot(row)[1]["x"]
    value.v.append(2)
    assert copied is not value
    assert type(copied) is type(value)
    assert list(copied.v) == [1]


def test_other_mappings_inside_a_row_are_copied() -> None:
    """Mappings of other classes within a row are copied, and keep their class."""
    inner = [1]
    for value in (
        types.MappingProxyType({"a": inner}),
        collections.ChainMap({"a": inner}),
        collections.defaultdict(list, a=inner),
        OrderedMap([("a", inner)]),
    ):
        (copied,) = snapshot([value])
        inner.append(2)
        assert type(copied) is type(value)
        assert copied["a"] == [1]
        # Undo the change before the next mapping is tested.
        inner.pop()


class Bag:
    """A collection that is not registered as one of `collections.abc`."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Any:
        return self.items[index]


@pytest.mark.parametrize(
    "make_value",
    [
        Bag,
        lambda items: dict.fromkeys(items).keys(),
        lambda items: collections.UserList(items),
        lambda items: (item for item in items),
        lambda items: map(abs, items),
        lambda items: itertools.islice(items, 5),
        lambda items: (ctypes.c_int32 * 2)(*items),
    ],
)
def test_all_collections_that_binding_accepts_are_copied(make_value: Callable[..., Any]) -> None:
    """Binding iterates over objects of many classes, and their copies do not change."""
    items = [1, 2]
    (copied,) = snapshot([make_value(items)])
    items[:] = [8, 9]
    assert list(copied) == [1, 2]


def test_views_of_a_mapping_are_copied() -> None:
    """Later changes of a mapping appear in its `keys`, `values` and `items`, not in copies."""
    mapping = {1: [2]}
    copies = snapshot([mapping.keys(), mapping.values(), mapping.items()])
    mapping[1].append(5)
    mapping[3] = []
    assert copies == [[1], [[2]], [(1, [2])]]


def test_an_error_of_a_generator_in_a_row_is_raised() -> None:
    """If a generator in a row fails, its error is raised, and no part of its items is bound."""

    def fail() -> Any:
        yield 1
        raise LookupError("no further tag")

    with pytest.raises(LookupError, match="no further tag"):
        snapshot([fail()])


@dataclasses.dataclass(eq=False)
class Street:
    """A value of a user-defined type, which can be an element of a set."""

    name: str


@pytest.mark.parametrize(
    "make_set", [SortedSet, set, frozenset, dict.fromkeys, collections.OrderedDict.fromkeys]
)
def test_objects_in_sets_and_keys_of_mappings_are_copied(make_set: Callable[..., Any]) -> None:
    """Objects with declared fields are also copied as elements of sets and as keys of mappings."""
    street = Street("old")
    (copied,) = snapshot([make_set([street])])
    street.name = "new"
    assert [item.name for item in copied] == ["old"]


def test_a_sorted_set_is_copied_with_its_elements() -> None:
    """The driver's class of sets, and the sets in it, are copied; the elements keep their order."""
    inner = SortedSet([1])
    tags = SortedSet([inner])
    unordered = SortedSet([(1, None), (1, 2)])  # `<` does not compare None with 2
    copied, unordered_copy = snapshot((tags, unordered))
    inner.add(2)
    tags.add(SortedSet([3]))
    unordered.add((1, 0))
    assert type(copied) is SortedSet
    assert list(copied) == [SortedSet([1])]
    assert list(unordered_copy) == [(1, None), (1, 2)]
    assert (1, 2) in unordered_copy


def test_a_batch_takes_a_sorted_set_as_it_is() -> None:
    """Rows of a batch keep the elements that a set of a result had when they were added."""
    tags = SortedSet([1, 2])
    batch = BatchStatement()
    batch.add("INSERT INTO t (k, s) VALUES (?, ?)", (1, tags))
    tags.add(3)
    batch.add_many("INSERT INTO t (k, s) VALUES (?, ?)", [(2, tags)])
    tags.clear()
    rows = [row for entry in batch.sealed_entries() for row in entry.rows]  # type: ignore[union-attr]
    assert [list(row[1]) for row in rows] == [[1, 2], [1, 2, 3]]


# -- buffers and arrays ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make_view",
    [
        lambda: memoryview(array.array("d", [1.5, 2.5])),
        lambda: memoryview(array.array("i", [1, 2, 3, 4]))[::2],
        lambda: numpy.array([[1, 2], [3, 4]], "i4").data,
        lambda: memoryview(array.array("d")),
        lambda: memoryview(bytearray(b"abcd")).cast("c"),
    ],
)
def test_a_memoryview_is_copied_with_its_format(make_view: Any) -> None:
    """The copy of a memoryview has the same format, and no later change of the memory."""
    view = make_view()
    (copied,) = snapshot([view])
    assert copied.format == view.format
    assert copied.shape == view.shape
    assert copied.tolist() == view.tolist()
    content_before = copied.tolist()
    if view.nbytes:
        underlying_buffer = view.obj
        # Change the memory to which the memoryview refers.
        numpy.frombuffer(underlying_buffer, "u1")[:] = 0
        assert view.tolist() != content_before
    assert copied.tolist() == content_before


def test_a_memoryview_of_a_foreign_format_is_copied() -> None:
    """A memoryview with a format of ctypes, such as "<i", is copied.

    `snapshot` cannot use `memoryview.cast` for it, which does not accept such formats.
    """
    numbers = (ctypes.c_int32 * 2)(1, 2)
    original_bytes = bytes(numbers)
    (copied,) = snapshot([memoryview(numbers)])
    numbers[0] = 5
    assert bytes(copied) == original_bytes


def test_elements_of_object_arrays_are_copied() -> None:
    """The mutable elements of NumPy arrays and pandas Series of objects are copied."""
    shared = [1]
    flat = numpy.empty(2, object)
    flat[:] = [shared, {"a": shared}]
    square = numpy.empty((2, 2), object)
    square[1, 1] = shared
    structured = numpy.array([(1, shared)], [("k", "i4"), ("v", object)])
    masked = numpy.ma.array(flat, mask=[False, True])
    series = pandas.Series([shared, None], index=[3, 3])
    flat_copy, square_copy, structured_copy, masked_copy, series_copy = (
        snapshot(value) for value in (flat, square, structured, masked, series)
    )
    record = snapshot([structured[0]])[0]
    # This array has no dimensions, and a single element.
    scalar = snapshot([flat[:1].reshape(())])[0]
    # All originals contain this list, so its change affects all of them, but must not affect the
    # copies.
    shared.append(2)
    assert flat_copy.tolist() == [[1], {"a": [1]}]
    assert square_copy.tolist() == [[None, None], [None, [1]]]
    assert structured_copy.tolist() == [(1, [1])]
    # A masked element must be copied as None.
    assert masked_copy.tolist() == [[1], None]
    assert series_copy.tolist() == [[1], None]
    assert list(series_copy.index) == [3, 3]
    assert record["v"] == [1]
    assert scalar.item() == [1]


class Tensor:
    """An array with the methods of a tensor of PyTorch: it has `clone`, and no `copy`."""

    dtype = "float32"

    def __init__(self, elements: Any) -> None:
        self.elements = elements

    def tolist(self) -> Any:
        return self.elements.tolist()

    def clone(self) -> Tensor:
        return Tensor(self.elements.copy())


def arrow_extension(elements: Any) -> Any:
    """Return an array of pandas, which has the elements in Arrow memory."""
    return pandas.arrays.ArrowExtensionArray(pyarrow.array(elements))


@pytest.mark.parametrize(
    "make_view",
    [
        Tensor,
        lambda elements: polars.Series("c", elements),
        pyarrow.array,
        lambda elements: pyarrow.chunked_array([pyarrow.array(elements)]),
        lambda elements: pyarrow.ListArray.from_arrays([0, 2], pyarrow.array(elements))[0],
        pyarrow.py_buffer,
        lambda elements: pandas.Index(elements, copy=False),
        lambda elements: pandas.array(elements, copy=False),
        arrow_extension,
        lambda elements: pandas.Series(arrow_extension(elements), index=[3, 4], name="c"),
    ],
)
def test_views_of_an_array_are_copied(make_view: Callable[..., Any]) -> None:
    """Objects of array libraries that are views of a NumPy array do not change with it."""
    elements = numpy.array([1, 2])
    (copied,) = snapshot([make_view(elements)])
    elements[:] = 9
    if isinstance(copied, pyarrow.Buffer):
        copied = numpy.frombuffer(copied, elements.dtype)
    if isinstance(copied, pyarrow.Scalar):
        copied = copied.as_py()
    to_list = getattr(copied, "to_pylist", None) or getattr(copied, "tolist", None)
    assert (copied if to_list is None else to_list()) == [1, 2]
    if isinstance(copied, pandas.Series):
        assert list(copied.index) == [3, 4]
        assert copied.name == "c"


def test_a_series_of_polars_and_a_mapped_file_are_copied() -> None:
    """Assignments to a Series of polars, and to the memory of a mapped file, change no copy."""
    series = polars.Series([1.5, 2.5])
    mapped = mmap.mmap(-1, 2)
    series_copy, mapped_copy = snapshot((series, mapped))
    series[0] = 9.0
    mapped[:] = b"ab"
    assert list(series_copy) == [1.5, 2.5]
    assert bytes(mapped_copy) == b"\0\0"


@pytest.mark.parametrize("make_scalar", [pyarrow.scalar, lambda value: pyarrow.array([value])[0]])
@pytest.mark.parametrize("value", [None, 5, "text", b"bytes", [1, None], {"a": 1}])
def test_scalars_of_arrow_keep_their_value(make_scalar: Any, value: Any) -> None:
    """The copy of a scalar of pyarrow has the same type and value."""
    scalar = make_scalar(value)
    (copied,) = snapshot([scalar])
    assert copied.type == scalar.type
    assert copied.as_py() == value


def test_an_error_of_a_signal_handler_is_raised_unchanged() -> None:
    """An error that a signal handler raises while a value is copied is raised unchanged.

    If the value can be copied at a second attempt, its class was not the cause of the error.
    """

    class LimitReached(Exception):
        """An error as a signal handler raises it."""

    class Interrupted(list[int]):
        errors: ClassVar[list[Exception]] = [LimitReached()]

        def __iter__(self) -> Any:
            if self.errors:
                raise self.errors.pop()
            return super().__iter__()

        def __reduce_ex__(self, protocol: Any) -> Any:
            if self.errors:
                raise self.errors.pop()
            return super().__reduce_ex__(protocol)

    row = (Interrupted([1]),)
    with pytest.raises(LimitReached):
        snapshot(row)
    assert snapshot(row) == ([1],)
