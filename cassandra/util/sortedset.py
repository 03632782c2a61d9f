"""The set type for CQL sets. Its elements are sorted, and need no hash."""

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
    """The elements of a set, if ``<`` does not order them: tuples with nulls, sets, or NaN.

    A search must compare every element, because bisection would miss elements.
    """

    __slots__ = ()


def _ordered_unique(items: Iterable[Any], distinct: bool = False) -> list[Any]:
    """Return `items` sorted and without duplicates. Items without a total order are not sorted.

    :param distinct: True if the caller knows that there are no duplicates. Elements that have
        neither an order nor a hash are then not compared with each other, which would take
        quadratic time.
    """
    elements = list(items)
    # A single element need not support ``<``.
    if len(elements) < 2:
        return elements
    try:
        # Try to sort: only that shows whether the elements have an order.
        ordered = sorted(elements)
        # In the usual case, each element is less than the next element, so there are no duplicates.
        if all(map(lt, ordered, islice(ordered, 1, None))):
            return ordered
        previous = ordered[0]
        unique = [previous]
        for item in ordered[1:]:
            if previous < item:
                unique.append(item)
                previous = item
            elif item != previous:
                # The two elements are neither ordered nor equal, so there is no total order,
                # although sorted() has raised no error. For example, ``<`` of sets means subset,
                # and NaN is not less than any number.
                return _unordered_unique(elements, distinct)
    except TypeError:
        return _unordered_unique(elements, distinct)
    return unique


def _unordered_unique(items: list[Any], distinct: bool) -> _Unordered:
    """Return `items` in their order, without duplicates; see `_ordered_unique`."""
    try:
        return _Unordered(dict.fromkeys(items))
    except TypeError:  # some items have no hash
        if distinct:
            return _Unordered(items)
        unique = _Unordered()
        for item in items:
            if item not in unique:
                unique.append(item)
        return unique


class SortedSet(bases.SetBase):
    """A sorted set, whose elements must support ``<``, but need no hash.

    If the elements cannot be sorted, they keep the order in which they were added. The class has
    the methods and operators of `set`. You can also get an element by its index.

    :param iterable: the elements, in any order.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    _items: list[Any]

    def __init__(self, iterable: Iterable[Any] = ()) -> None:
        self._items = _ordered_unique(iterable)

    @classmethod
    def _of(cls, items: list[Any]) -> SortedSet:
        new_set = cls.__new__(cls)
        new_set._items = items
        return new_set

    @classmethod
    def _read(cls, items: list[Any]) -> SortedSet:
        """Create a set from elements that a server has sent, which are distinct."""
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
        """Search for `item`: return (True, its index), or (False, the index at which to insert it).

        The index is -1 if the item is not in the set, and the elements have no order.
        """
        items = self._items
        # Do not bisect an `_Unordered`, which is a subclass of list: that would miss elements.
        if type(items) is list:
            try:
                index = bisect_left(items, item)
                if index < len(items) and items[index] == item:
                    return True, index
                # Return this index only if the item is between its neighbours. Otherwise there is
                # no total order, so compare with each element below.
                if (index == len(items) or item < items[index]) and (
                    index == 0 or items[index - 1] < item
                ):
                    return False, index
            except TypeError:  # the item cannot be compared by `<`: check each element
                pass
        for element_index, element in enumerate(items):
            if element is item or element == item:
                return True, element_index
        return False, -1

    def _subset(self, items: list[Any]) -> SortedSet:
        """Return a set with some elements of this set, which must be in the order of this set."""
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
            # Compare the elements of a list in any order, because tests of applications do that.
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
        """Add `item`, if it is not in the set.

        :param item: the element. It should support ``<`` with the other elements.
        """
        is_member, index = self._find(item)
        if is_member:
            return
        if index < 0:
            # The set loses its order, because `item` cannot be compared with the other elements.
            self._items = _Unordered(self._items)
            self._items.append(item)
        else:
            self._items.insert(index, item)

    def update(self, *iterables: Iterable[Any]) -> None:
        """Add all elements of some iterables.

        :param iterables: the iterables.
        """
        for iterable in iterables:
            # Copy the elements first, because the iterable may be this set.
            for item in list(iterable):
                self.add(item)

    def clear(self) -> None:
        """Remove all elements."""
        self._items = []

    def copy(self) -> SortedSet:
        """Return a set with the same elements."""
        return self._subset(list(self._items))

    def discard(self, item: object) -> None:
        """Remove `item` if it is in the set.

        :param item: the element. It should support ``<`` with the other elements.
        """
        is_member, index = self._find(item)
        if is_member:
            del self._items[index]

    def remove(self, item: object) -> None:
        """Remove `item`.

        :param item: the element. It should support ``<`` with the other elements.
        :raises KeyError: if `item` is not in the set.
        """
        is_member, index = self._find(item)
        if not is_member:
            raise KeyError(item)
        del self._items[index]

    def pop(self) -> Any:
        """Remove the last element and return it.

        :raises KeyError: if the set is empty.
        """
        if not self._items:
            raise KeyError("pop from an empty set")
        return self._items.pop()

    def isdisjoint(self, other: Iterable[Any]) -> bool:
        """Return True if the sets have no common element.

        :param other: an iterable.
        """
        return not any(item in self for item in other)

    def issubset(self, other: Iterable[Any]) -> bool:
        """Return True if all elements of this set are in `other`.

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
        return self._subset([item for item in self if all(_in(item, pool) for pool in pools)])

    def difference(self, *others: Iterable[Any]) -> SortedSet:
        """Return a set of the elements that are in none of `others`.

        :param others: iterables.
        """
        pools = [_searchable(other) for other in others]
        return self._subset([item for item in self if not any(_in(item, pool) for pool in pools)])

    def symmetric_difference(self, other: Iterable[Any]) -> SortedSet:
        """Return a set of the elements that are in exactly one of the two sets.

        :param other: an iterable.
        """
        other_set = SortedSet(other)
        return self.difference(other_set).union(other_set.difference(self))


def _searchable(other: Iterable[Any]) -> SortedSet | set[Any] | frozenset[Any]:
    return other if isinstance(other, (SortedSet, set, frozenset)) else SortedSet(other)


def _in(item: object, pool: Collection[Any]) -> bool:
    """Return ``item in pool``, even if `pool` is a built-in set and `item` has no hash."""
    try:
        return item in pool
    except TypeError:
        return any(item == other for other in pool)


sortedset = SortedSet  # an older name

SortedSet.__module__ = "cassandra.util"
