"""The mapping that a CQL map is read as: it keeps the server's order, and takes any keys.

A map arrives on the wire as two lists, keys and values. Its index from serialized key to place is
made at the first look-up, since most maps are only iterated over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from cassandra._imports import import_module

if TYPE_CHECKING:
    from cassandra import bases
    from cassandra.cqltypes.base import _CassandraType
else:
    from cassandra._impl import bases


@cache
def _dumps() -> Callable[[Any], bytes]:
    # Maps off the wire never need it, and its import costs more than that of this package's other
    # helpers together.
    dumps: Callable[[Any], bytes] = import_module("pickle").dumps
    return dumps


class OrderedMap(Mapping[Any, Any], bases.MapBase):
    """A mapping that keeps the order of insertion and takes keys of any type.

    Keys are told apart by their pickles. It is made like a `dict`: `OrderedMap(mapping)`,
    `OrderedMap([(key, value), ...])`, or with keyword arguments.

    :param args: a mapping, or an iterable of pairs (key, value); or nothing.
    :param kwargs: further values by key.
    :raises TypeError: if there are two positional arguments or more.
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
        # The private name by which tests of servers read the pairs, repeated keys and all.
        return list(zip(self._keys, self._values, strict=True))

    def _serialize_key(self, key: object) -> Any:
        return _dumps()(key)

    def _places(self) -> dict[Any, int]:
        index = self._index
        if index is None:
            serialize = self._serialize_key
            index = {serialize(key): place for place, key in enumerate(self._keys)}
            if len(index) != len(self._keys):
                # The wire may repeat a key: the last one wins, as in dict.
                places = sorted(index.values())
                self._values = [self._values[place] for place in places]
                self._keys = [self._keys[place] for place in places]
                index = {serialize(key): place for place, key in enumerate(self._keys)}
            self._index = index
        return index

    def _insert(self, key: object, value: object) -> None:
        index = self._places()
        flat = self._serialize_key(key)
        place = index.get(flat)
        if place is None:
            index[flat] = len(self._keys)
            self._keys.append(key)
            self._values.append(value)
        else:
            self._keys[place] = key
            self._values[place] = value

    __setitem__ = _insert

    def __getitem__(self, key: object) -> Any:
        try:
            place = self._places()[self._serialize_key(key)]
        except (KeyError, TypeError, ValueError, OverflowError):
            # A key that cannot be serialized as this map's key type is not in the map.
            raise KeyError(str(key)) from None
        return self._values[place]

    def __delitem__(self, key: object) -> None:
        index = self._places()
        flat = self._serialize_key(key)
        if flat not in index:
            raise KeyError(str(key))
        place = index[flat]
        del self._keys[place], self._values[place]
        # All later places have moved: the next look-up counts them anew.
        self._index = None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, OrderedMap):
            # Between two ordered maps the order counts.
            return self._keys == other._keys and self._values == other._values
        if isinstance(other, Mapping):
            try:
                # It does not count beside any other mapping, as with dict.
                return len(self) == len(other) and all(
                    key in other and other[key] == value
                    for key, value in zip(self._keys, self._values, strict=True)
                )
            except TypeError:
                return False
        return NotImplemented

    # A mapping that can change, so it has no hash, like dict.
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
        return _rebuild, (type(self), self._keys, self._values)

    def popitem(self) -> tuple[Any, Any]:
        """Take out the last pair and return it.

        :raises KeyError: if the map is empty.
        """
        if not self._keys:
            raise KeyError("popitem from an empty map")
        self._index = None
        return self._keys.pop(), self._values.pop()


class OrderedMapSerializedKey(OrderedMap, bases.KeyedMapBase):
    """An `OrderedMap` that tells its keys apart by their CQL bytes. Map columns are read as it.

    A copy made by pickle has no key type and tells its keys apart by their pickles.

    :param cass_type: the key type of the map, a class of `cassandra.cqltypes`.
    :param protocol_version: the version whose format the keys are serialized in.
    """

    __slots__ = ()

    _encode_key: Callable[[Any], bytes] | None

    def __init__(self, cass_type: type[_CassandraType], protocol_version: int) -> None:
        super().__init__()
        self._encode_key = cass_type.codec(protocol_version).encode

    @classmethod
    def _of(
        cls, keys: list[Any], values: list[Any], encode_key: Callable[[Any], bytes] | None
    ) -> Any:
        """Make a map of two lists of one length, and keep them."""
        made = cls.__new__(cls)
        made._keys = keys
        made._values = values
        made._index = None
        made._encode_key = encode_key
        return made

    def _insert_unchecked(self, key: object, flat_key: bytes, value: object) -> None:
        """Append a pair whose key is known to be new; `flat_key` is the key's bytes."""
        self._places()[flat_key] = len(self._keys)
        self._keys.append(key)
        self._values.append(value)

    def _serialize_key(self, key: object) -> Any:
        if key is None or self._encode_key is None:
            # No CQL map has a null key, so None stands for itself here.
            return None if key is None else super()._serialize_key(key)
        return self._encode_key(key)


def _rebuild(cls: type[OrderedMap], keys: list[Any], values: list[Any]) -> OrderedMap:
    made = cls.__new__(cls)
    # Subclasses may have constructors of their own, so none is called.
    made._keys = list(keys)
    made._values = list(values)
    made._index = None
    if isinstance(made, OrderedMapSerializedKey):
        made._encode_key = None
    return made


OrderedMap.__module__ = "cassandra.util"
OrderedMapSerializedKey.__module__ = "cassandra.util"
