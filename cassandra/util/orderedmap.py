"""The mapping type for CQL maps. A map keeps the server's order, and its keys need no hash.

The codec makes a map from a list of keys and a list of values. The first look-up of a key builds an
index from serialized keys to positions. Most maps are only iterated over, and so need no index.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, ValuesView
from functools import cache
from typing import TYPE_CHECKING, Any

from cassandra._imports import Deferred, import_module

if TYPE_CHECKING:
    from typing_extensions import Self

    from cassandra import bases
    from cassandra.cqltypes import parse
    from cassandra.cqltypes.base import _CassandraType
else:
    from cassandra._impl import bases

    # Only a map that was unpickled needs this module.
    parse = Deferred("cassandra.cqltypes.parse")


@cache
def _dumps() -> Callable[[Any], bytes]:
    # Import pickle only here. Maps that come from a server never need it, and importing pickle
    # takes longer than importing all other modules of this package.
    dumps: Callable[[Any], bytes] = import_module("pickle").dumps
    return dumps


class _NamedKeyType:
    """Encodes the keys of an unpickled map, by the name of their CQL type.

    If the name alone does not tell how keys are encoded, as with a user-defined type, then keys are
    pickled. The type is looked up when it is first needed, because most maps need no look-up.

    :param cql_name: the name of the type.
    """

    __slots__ = ("_encode", "cql_name")

    def __init__(self, cql_name: str) -> None:
        self.cql_name = cql_name
        self._encode: Callable[[Any], bytes] | None = None

    def __call__(self, key: object) -> bytes:
        """Return the bytes of `key`."""
        encode = self._encode
        if encode is None:
            try:
                encode = parse.lookup_parameterized_cqltype(self.cql_name).codec().encode
            except (LookupError, ValueError, TypeError):
                encode = _dumps()
            self._encode = encode
        return encode(key)


class _Items(ItemsView[Any, Any]):
    """The pairs of a map. Iterating over them looks up no key, so it builds no index."""

    _mapping: OrderedMap

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return zip(self._mapping._keys, self._mapping._values, strict=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return ItemsView, (self._mapping,)


class _Values(ValuesView[Any]):
    """The values of a map, in the order of its keys."""

    _mapping: OrderedMap

    def __contains__(self, value: object) -> bool:
        return value in self._mapping._values

    def __iter__(self) -> Iterator[Any]:
        return iter(self._mapping._values)

    def __reduce__(self) -> tuple[Any, ...]:
        return ValuesView, (self._mapping,)


# In their reprs, the views have the names of the classes that other mappings return.
_Items.__name__ = _Items.__qualname__ = "ItemsView"
_Values.__name__ = _Values.__qualname__ = "ValuesView"


class OrderedMap(Mapping[Any, Any], bases.MapBase):
    """A mapping that keeps the order of insertion, and accepts keys of any type.

    Keys are compared by their pickles. Create a map like a `dict`: `OrderedMap(mapping)`,
    `OrderedMap([(key, value), ...])`, or with keyword arguments.

    :param args: a mapping, or an iterable of pairs (key, value); or nothing.
    :param kwargs: further values by key.
    :raises TypeError: if there is more than one positional argument.
    """

    __slots__ = ()

    _keys: list[Any]
    _values: list[Any]
    _index: dict[Any, int] | None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if len(args) > 1:
            raise TypeError(
                f"OrderedMap takes at most 1 positional argument, {len(args)} were given"
            )
        self._keys = []
        self._values = []
        self._index = {}
        for source in (*args, kwargs):
            pairs: Iterable[tuple[Any, Any]] = (
                source.items() if hasattr(source, "items") else source
            )
            for key, value in pairs:
                self._insert(key, value)

    @property
    def _items(self) -> list[tuple[Any, Any]]:
        # The test suites of servers read the pairs by this private name, including repeated keys.
        return list(zip(self._keys, self._values, strict=True))

    def _serialize_key(self, key: object) -> bytes | None:
        return _dumps()(key)

    def _positions(self) -> dict[Any, int]:
        """Return the position of each key by its serialized form; build this index if necessary."""
        index = self._index
        if index is None:
            serialize = self._serialize_key
            index = {serialize(key): position for position, key in enumerate(self._keys)}
            if len(index) != len(self._keys):
                # The lists may contain a key twice, because a server may send one. As in a dict,
                # the last value wins: remove the earlier pairs.
                positions = sorted(index.values())
                self._values = [self._values[position] for position in positions]
                self._keys = [self._keys[position] for position in positions]
                index = {serialize(key): position for position, key in enumerate(self._keys)}
            self._index = index
        return index

    def _insert(self, key: object, value: object) -> None:
        """Set the value of `key`, and append the key if it is new."""
        index = self._positions()
        serialized_key = self._serialize_key(key)
        position = index.get(serialized_key)
        if position is None:
            index[serialized_key] = len(self._keys)
            self._keys.append(key)
            self._values.append(value)
        else:
            self._keys[position] = key
            self._values[position] = value

    __setitem__ = _insert

    def __getitem__(self, key: object) -> Any:
        try:
            position = self._positions()[self._serialize_key(key)]
        except (KeyError, TypeError, ValueError, OverflowError):
            # A key that cannot be serialized as the map's key type is not in the map.
            raise KeyError(str(key)) from None
        return self._values[position]

    def __delitem__(self, key: object) -> None:
        index = self._positions()
        serialized_key = self._serialize_key(key)
        if serialized_key not in index:
            raise KeyError(str(key))
        position = index[serialized_key]
        del self._keys[position], self._values[position]
        # The positions of all later keys have changed, so the next look-up must build a new index.
        self._index = None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def items(self) -> ItemsView[Any, Any]:
        return _Items(self) if self._is_read_as_usual() else super().items()

    def values(self) -> ValuesView[Any]:
        return _Values(self) if self._is_read_as_usual() else super().values()

    def _is_read_as_usual(self) -> bool:
        """Return True unless an application's subclass has its own way to read the pairs."""
        cls = type(self)
        return cls.__getitem__ is OrderedMap.__getitem__ and cls.__iter__ is OrderedMap.__iter__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, OrderedMap):
            # Two ordered maps are equal only if their pairs have the same order.
            return self._keys == other._keys and self._values == other._values
        if isinstance(other, Mapping):
            try:
                # For any other mapping, the order does not matter, as with dict.
                return len(self) == len(other) and all(
                    key in other and other[key] == value
                    for key, value in zip(self._keys, self._values, strict=True)
                )
            except TypeError:
                return False
        return NotImplemented

    # Maps are mutable, so they have no hash, like dict.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        pairs = ", ".join(
            f"({key!r}, {value!r})" for key, value in zip(self._keys, self._values, strict=True)
        )
        return f"{type(self).__name__}([{pairs}])"

    def __str__(self) -> str:
        pairs = ", ".join(
            f"{key!r}: {value!r}" for key, value in zip(self._keys, self._values, strict=True)
        )
        return f"{{{pairs}}}"

    def __reduce__(self) -> tuple[Any, ...]:
        if type(self) is OrderedMap:  # cassandra-driver can unpickle this form
            return OrderedMap, (list(self.items()),)
        return _rebuild, (type(self), self._keys, self._values)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a map that cassandra-driver has pickled."""
        self._keys = [key for key, _ in state["_items"]]
        self._values = [value for _, value in state["_items"]]
        self._index = None

    def popitem(self) -> tuple[Any, Any]:
        """Remove the last pair and return it.

        :raises KeyError: if the map is empty.
        """
        if not self._keys:
            raise KeyError("popitem from an empty map")
        self._index = None  # the next look-up builds the index again
        return self._keys.pop(), self._values.pop()


class OrderedMapSerializedKey(OrderedMap, bases.KeyedMapBase):
    """An `OrderedMap` that compares keys by their CQL bytes. CQL maps are decoded to this class.

    A pickle contains the name of the key type. If the keys contain values of a user-defined type,
    or an application's codec converts them, then an unpickled map compares keys by their pickles.
    So does a map whose keys were converted by an application's codec that cannot convert them back.

    :param cass_type: the key type of the map, a class of `cassandra.cqltypes`.
    :param protocol_version: the protocol version for which keys are serialized.
    """

    __slots__ = ()

    _encode_key: Callable[[Any], bytes] | None

    def __init__(self, cass_type: type[_CassandraType], protocol_version: int) -> None:
        super().__init__()
        self._encode_key = cass_type.codec(protocol_version).encode

    def __copy__(self) -> Self:
        new_map = type(self).__new__(type(self))
        new_map._fill([*self._keys], [*self._values], self._encode_key)
        return new_map

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        deepcopy = import_module("copy").deepcopy
        new_map = type(self).__new__(type(self))
        # A value may contain this map.
        memo[id(self)] = new_map
        # Copies share the codec, which is immutable.
        new_map._fill(deepcopy(self._keys, memo), deepcopy(self._values, memo), self._encode_key)
        return new_map

    def __reduce__(self) -> tuple[Any, ...]:
        # Codecs are not pickled, so write the name of the type. `_encode_key` is a method of a
        # codec, or a `_NamedKeyType`.
        encoder = getattr(self._encode_key, "__self__", self._encode_key)
        key_type = getattr(encoder, "cql_name", None)
        return _rebuild, (type(self), self._keys, self._values, key_type)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._encode_key = state["cass_key_type"].codec(state["protocol_version"]).encode

    @classmethod
    def _of(
        cls, keys: list[Any], values: list[Any], encode_key: Callable[[Any], bytes] | None
    ) -> Self:
        """Return a map that uses these lists without copying. They must have the same length."""
        new_map = cls.__new__(cls)
        new_map._fill(keys, values, encode_key)
        return new_map

    def _fill(
        self, keys: list[Any], values: list[Any], encode_key: Callable[[Any], bytes] | None
    ) -> None:
        self._keys = keys
        self._values = values
        self._index = None
        self._encode_key = encode_key

    def _positions(self) -> dict[Any, int]:
        try:
            return super()._positions()
        except (TypeError, ValueError, OverflowError):
            # These keys are not values that the driver itself makes of the type: an application's
            # codec has converted them. It does not convert them back, or it was not in the pickle
            # of the map. So compare keys by their pickles.
            self._encode_key = None
            return super()._positions()

    def _insert_unchecked(self, key: object, flat_key: bytes, value: object) -> None:
        """Append a pair whose key is known to be new. `flat_key` is the serialized key."""
        self._positions()[flat_key] = len(self._keys)
        self._keys.append(key)
        self._values.append(value)

    def _serialize_key(self, key: object) -> bytes | None:
        if key is None or self._encode_key is None:
            # CQL has no null keys, so None cannot be serialized: use None itself in the index.
            return None if key is None else super()._serialize_key(key)
        return self._encode_key(key)


def _rebuild(
    cls: type[OrderedMap], keys: list[Any], values: list[Any], key_type: str | None = None
) -> OrderedMap:
    """Create a map of the class `cls`. Unpickling calls this function.

    :param key_type: the name of the CQL type by which keys are compared; None to compare pickles.
    """
    new_map = cls.__new__(cls)
    # Subclasses may have other constructors, so do not call a constructor.
    new_map._keys = list(keys)
    new_map._values = list(values)
    new_map._index = None
    if isinstance(new_map, OrderedMapSerializedKey):
        new_map._encode_key = None if key_type is None else _NamedKeyType(key_type)
    return new_map


OrderedMap.__module__ = "cassandra.util"
OrderedMapSerializedKey.__module__ = "cassandra.util"
