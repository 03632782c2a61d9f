"""The set that a CQL set is read as: it is ordered, and takes elements that have no hash."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from operator import lt
from typing import TYPE_CHECKING, Any, SupportsIndex

if TYPE_CHECKING:
    from cassandra import bases
else:
    from cassandra._impl import bases


class _Unordered(list[Any]):
    """Elements that ``<`` does not put into one order (tuples with nulls, sets, NaN).

    A search looks at each of them.
    """

    __slots__ = ()


def _ordered_unique(items: Iterable[Any], distinct: bool = False) -> list[Any]:
    """Return `items` sorted, equal ones once. If they have no total order, they keep their own.

    :param distinct: True if no equal ones are expected. Elements without order and hash are then
        taken as they are: comparing each with each takes the square of their number.
    """
    arrived = list(items)
    # A single element need not be comparable.
    if len(arrived) < 2:
        return arrived
    try:
        # Sorting is the only test for an order: it fails if there is none.
        found = sorted(arrived)
        if all(map(lt, found, islice(found, 1, None))):
            return found
        previous = found[0]
        kept = [previous]
        for item in found[1:]:
            if previous < item:
                kept.append(item)
                previous = item
            elif item != previous:
                # Sorted without an error, and still in no order: sets compare as subsets, NaN with
                # nothing.
                return _unique(arrived, distinct)
    except TypeError:
        return _unique(arrived, distinct)
    return kept


def _unique(items: list[Any], distinct: bool) -> _Unordered:
    try:
        return _Unordered(dict.fromkeys(items))
    except TypeError:  # not all can be hashed
        if distinct:
            return _Unordered(items)
        unique = _Unordered()
        for item in items:
            if item not in unique:
                unique.append(item)
        return unique


class SortedSet(bases.SetBase):
    """A set kept in order, whose elements need ``<`` rather than a hash.

    Elements that do not compare stay in order of arrival. It has the methods and operators of
    `set`, and indexing.

    :param iterable: the elements, in any order.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    _items: list[Any]

    def __init__(self, iterable: Iterable[Any] = ()) -> None:
        self._items = _ordered_unique(iterable)

    @classmethod
    def _of(cls, items: list[Any]) -> SortedSet:
        made = cls.__new__(cls)
        made._items = items
        return made

    @classmethod
    def _read(cls, items: list[Any]) -> SortedSet:
        """Make a set of elements that a server sent, which sends each once."""
        return cls._of(_ordered_unique(items, distinct=True))

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        return self._items[index]

    def __delitem__(self, index: SupportsIndex | slice) -> None:
        del self._items[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __reversed__(self) -> Iterator[Any]:
        yield from reversed(self._items)

    def __repr__(self) -> str:
        return f"SortedSet({self._items!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return self.__class__, (list(self._items),)

    def _find(self, item: object) -> tuple[bool, int]:
        """Return (is `item` in, its place or the place where it belongs).

        The place is -1 if it is not in, and no order says where it belongs.
        """
        items = self._items
        # An `_Unordered` is a list too, but bisecting it would miss elements.
        if type(items) is list:
            try:
                place = bisect_left(items, item)
                if place < len(items) and items[place] == item:
                    return True, place
                if (place == len(items) or item < items[place]) and (
                    place == 0 or items[place - 1] < item
                ):
                    return False, place
            except TypeError:  # this item does not compare with the others: look at each
                pass
        for at, other in enumerate(items):
            if other is item or other == item:
                return True, at
        return False, -1

    def _some(self, items: list[Any]) -> SortedSet:
        """Return a set of some of this one's elements, in this one's order."""
        return self._of(items if type(self._items) is list else _Unordered(items))

    def __contains__(self, item: object) -> bool:
        return self._find(item)[0]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SortedSet):
            return self._items == other._items or (
                len(self) == len(other) and all(item in other for item in self)
            )
        if isinstance(other, (set, frozenset)):
            return len(self) == len(other) and all(_in(item, other) for item in self)
        if isinstance(other, Collection) and not isinstance(other, (str, bytes)):
            # A list of the same elements, in any order: tests of applications compare with one.
            return len(self) == len(other) and self == SortedSet(other)
        return NotImplemented

    def __le__(self, other: Iterable[Any]) -> bool:
        return self.issubset(other)

    def __lt__(self, other: Collection[Any]) -> bool:
        return len(other) > len(self) and self.issubset(other)

    def __ge__(self, other: Iterable[Any]) -> bool:
        return self.issuperset(other)

    def __gt__(self, other: Collection[Any]) -> bool:
        return len(self) > len(other) and self.issuperset(other)

    def __and__(self, other: Iterable[Any]) -> SortedSet:
        return self.intersection(other)

    __rand__ = __and__

    def __iand__(self, other: Iterable[Any]) -> SortedSet:
        self._items = self.intersection(other)._items
        return self

    def __or__(self, other: Iterable[Any]) -> SortedSet:
        return self.union(other)

    __ror__ = __or__

    def __ior__(self, other: Iterable[Any]) -> SortedSet:
        self.update(other)
        return self

    def __sub__(self, other: Iterable[Any]) -> SortedSet:
        return self.difference(other)

    def __rsub__(self, other: Iterable[Any]) -> SortedSet:
        return SortedSet(other).difference(self)

    def __isub__(self, other: Iterable[Any]) -> SortedSet:
        self._items = self.difference(other)._items
        return self

    def __xor__(self, other: Iterable[Any]) -> SortedSet:
        return self.symmetric_difference(other)

    __rxor__ = __xor__

    def __ixor__(self, other: Iterable[Any]) -> SortedSet:
        self._items = self.symmetric_difference(other)._items
        return self

    def add(self, item: object) -> None:
        """Put `item` in, if it is not there yet.

        :param item: the element, which compares with those that are in.
        """
        found, place = self._find(item)
        if found:
            return
        # The set loses its order: `item` does not compare with the others.
        if place < 0:
            self._items = _Unordered(self._items)
            self._items.append(item)
        else:
            self._items.insert(place, item)

    def update(self, *iterables: Iterable[Any]) -> None:
        """Put in all elements of `iterables`.

        :param iterables: iterables.
        """
        for iterable in iterables:
            # A list first: the iterable may be this very set.
            for item in list(iterable):
                self.add(item)

    def clear(self) -> None:
        """Take all elements out."""
        self._items = []

    def copy(self) -> SortedSet:
        """Return a set of the same elements."""
        return self._some(list(self._items))

    def discard(self, item: object) -> None:
        """Take `item` out if it is in.

        :param item: the element, which compares with those that are in.
        """
        found, place = self._find(item)
        if found:
            del self._items[place]

    def remove(self, item: object) -> None:
        """Take `item` out.

        :param item: the element, which compares with those that are in.
        :raises KeyError: if it is not in.
        """
        found, place = self._find(item)
        if not found:
            raise KeyError(item)
        del self._items[place]

    def pop(self) -> Any:
        """Take out the last element and return it.

        :raises KeyError: if the set is empty.
        """
        if not self._items:
            raise KeyError("pop from an empty set")
        return self._items.pop()

    def isdisjoint(self, other: Iterable[Any]) -> bool:
        """Return True if no element is in both.

        :param other: an iterable.
        """
        return not any(item in self for item in other)

    def issubset(self, other: Iterable[Any]) -> bool:
        """Return True if all elements are in `other`.

        :param other: an iterable.
        """
        pool = _searchable(other)
        return len(self) <= len(pool) and all(_in(item, pool) for item in self)

    def issuperset(self, other: Iterable[Any]) -> bool:
        """Return True if all elements of `other` are in this set.

        :param other: an iterable.
        """
        return all(item in self for item in other)

    def union(self, *others: Iterable[Any]) -> SortedSet:
        """Return a set of the elements that are in any of the sets.

        :param others: iterables.
        """
        result = self.copy()
        result.update(*others)
        return result

    def intersection(self, *others: Iterable[Any]) -> SortedSet:
        """Return a set of the elements that are in all of the sets.

        :param others: iterables.
        """
        pools = [_searchable(other) for other in others]
        return self._some([item for item in self if all(_in(item, pool) for pool in pools)])

    def difference(self, *others: Iterable[Any]) -> SortedSet:
        """Return a set of the elements that are in none of `others`.

        :param others: iterables.
        """
        pools = [_searchable(other) for other in others]
        return self._some([item for item in self if not any(_in(item, pool) for pool in pools)])

    def symmetric_difference(self, other: Iterable[Any]) -> SortedSet:
        """Return a set of the elements that are in one of the two only.

        :param other: an iterable.
        """
        theirs = SortedSet(other)
        return self.difference(theirs).union(theirs.difference(self))


def _searchable(other: Iterable[Any]) -> SortedSet | set[Any] | frozenset[Any]:
    return other if isinstance(other, (SortedSet, set, frozenset)) else SortedSet(other)


def _in(item: object, pool: Collection[Any]) -> bool:
    """Return ``item in pool``, even if `pool` is a built-in set and `item` has no hash."""
    try:
        return item in pool
    except TypeError:
        return any(item == other for other in pool)


sortedset = SortedSet  # its older name

SortedSet.__module__ = "cassandra.util"
