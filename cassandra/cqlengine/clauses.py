"""Clauses of statements: for WHERE, IF, SET and DELETE.

`BaseClause.text` returns the CQL of a clause with the markers that it gets as argument;
`BaseClause.bound` returns the values for these markers, in the same order. So the same code writes
two forms of CQL. The prepared form has ``?`` as marker: ``"id" = ?``. The documented form, which
``str(statement)`` returns as in cassandra-driver, has numbered markers: ``"id" = %(0)s``.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NoReturn

from cassandra._habits import stack_level
from cassandra._truth_tests import TruthTest, is_left_of_or
from cassandra.cqlengine.copies import are_different
from cassandra.cqlengine.errors import UnicodeMixin
from cassandra.cqlengine.functions import QueryValue
from cassandra.cqlengine.operators import (
    BaseWhereOperator,
    EqualsOperator,
    InOperator,
    IsNotNullOperator,
)
from cassandra.encoder import ValueSequence
from cassandra.util.cql_text import escape_name

PREPARED = "?"  # the marker of the prepared form


class StatementException(Exception):
    """A clause or an argument is not allowed in a statement of this kind."""


class ValueQuoter(UnicodeMixin):
    """Wraps a value so that ``str()`` returns the value's repr, which is inserted in CQL.

    :param value: the object whose repr is CQL.
    """

    __slots__ = ("value",)
    value: Any

    def __init__(self, value: object) -> None:
        self.value = value

    def __str__(self) -> str:
        return repr(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and not are_different(self.value, other.value)

    # Equal objects need equal hashes, but the value may be a list, which has no hash.
    __hash__ = None  # type: ignore[assignment]


class InQuoter(ValueQuoter):
    """Wraps the values of an ``IN``; ``str()`` returns their CQL in parentheses."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"({', '.join(repr(value) for value in self.value)})"


class BaseClause(UnicodeMixin):
    """A clause for one column and one value.

    `context_id` is the number of its first marker in ``str()`` of the statement, or None before the
    clause is added to a statement.

    :param field: the column's name in the database.
    :param value: the value in the form that is bound.
    """

    __slots__ = ("context_id", "field", "value")
    value: Any

    def __init__(self, field: str, value: object) -> None:
        self.field = field
        self.value = value
        self.context_id: int | None = None

    def text(self, markers: Sequence[str]) -> str:
        """Return the CQL of the clause with these markers.

        :param markers: one string for each marker, such as ``?``. The number of markers is the
            result of `get_context_size`.
        """
        raise NotImplementedError

    def bound(self) -> list[Any]:
        """Return the values to bind, one for each marker, in the order of the CQL."""
        return [self.value]

    def context(self) -> list[Any]:
        """Return the values for the CQL with numbered markers that ``str()`` returns."""
        return self.bound()

    def get_context_size(self) -> int:
        """Return the number of markers."""
        return len(self.bound())

    def set_context_id(self, i: int) -> None:
        """Give the markers of the clause successive numbers, starting with `i`.

        :param i: the number of the first marker.
        """
        self.context_id = i

    def update_context(self, ctx: dict[str, Any]) -> None:
        """Add the values of the clause to `ctx`; each key is the number of the value's marker.

        :param ctx: a dict whose keys are the markers' numbers as strings.
        """
        first = self.context_id or 0
        ctx.update({str(first + number): value for number, value in enumerate(self.context())})

    def prepared(self) -> str:
        """Return the CQL with ``?`` for each value."""
        return self.text([PREPARED] * self.get_context_size())

    def __str__(self) -> str:
        size = self.get_context_size()
        if self.context_id is None:
            return self.text(["%(None)s"] * size)
        return self.text([f"%({self.context_id + number})s" for number in range(size)])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"

    def __eq__(self, other: object) -> bool:
        # Compare the exact classes: an assignment to a column and a condition on it are different.
        return (
            type(other) is type(self)
            and self.field == other.field
            and not are_different(self.value, other.value)
        )

    __hash__ = None  # type: ignore[assignment]


class WhereClause(BaseClause):
    """A relation in WHERE.

    :param field: the column's name in the database, or an expression.
    :param operator: an instance of a subclass of `BaseWhereOperator`.
    :param value: the value in the form that is bound, or a `QueryValue`.
    :param quote_field: False if `field` is an expression, such as ``token("id")``.
    :raises StatementException: if `operator` is not an operator instance.
    """

    __slots__ = ("_truth_test", "operator", "quote_field")

    def __init__(
        self, field: str, operator: BaseWhereOperator, value: object, quote_field: bool = True
    ) -> None:
        if not isinstance(operator, BaseWhereOperator):
            raise StatementException(
                f"operator must be of type {BaseWhereOperator}, got {type(operator)}"
            )
        # Set all attributes here, and do not call super().__init__: each filter of each query
        # creates a clause, so the call would cost time.
        self.field = field
        self.value = value
        self.context_id = None
        self.operator = operator
        self.quote_field = quote_field
        # Created by the first call of `__bool__`. It issues a warning if it is deleted while the
        # clause is not part of a statement.
        self._truth_test: TruthTest | None = None

    def __bool__(self) -> bool:
        # In `A.x == 1 and A.y == 2`, Python calls `__bool__` of the first filter, and the value of
        # the expression is only the second filter. The first filter would be lost silently.
        if self._truth_test is None:
            self._truth_test = TruthTest(
                f"the filter on {self.field!r} was dropped: of `A.x == 1 and A.y == 2` and of "
                "`1 < A.x < 5`, Python keeps the second filter alone. Pass each as an argument: "
                "filter(A.x == 1, A.y == 2)"
            )
            if is_left_of_or():
                warnings.warn(
                    f"the filter on {self.field!r} is used alone: of `A.x == 1 or A.x == 2`, "
                    "Python keeps the first one. CQL has no OR: write A.x.in_([1, 2]), or a query "
                    "for each",
                    RuntimeWarning,
                    stacklevel=stack_level(),
                )
        return True

    def note_use(self) -> None:
        """Record that the clause is part of a statement: `__bool__` then causes no warning.

        Querysets and statements call this when they add the clause.
        """
        if self._truth_test is not None:
            self._truth_test.is_used = True

    def __and__(self, other: object) -> NoReturn:
        raise TypeError(
            "filters are not joined by &: pass each as an argument, filter(A.x > 1, A.y == 2)"
        )

    def __or__(self, other: object) -> NoReturn:
        raise TypeError(
            "CQL has no OR, so filters are not joined by |: write A.x.in_([1, 2]) for several "
            "values of a column, or a query for each filter"
        )

    def shape(self) -> tuple[Any, ...]:
        """Return a hashable key: everything about the clause that its prepared CQL depends on."""
        value = self.value
        if isinstance(value, QueryValue):
            return (self.field, type(self.operator), type(value), value.get_context_size())
        # `IN ?` binds the whole list, so the number of values is not part of the shape.
        return (self.field, type(self.operator), self.quote_field)

    def text(self, markers: Sequence[str]) -> str:
        field = escape_name(self.field) if self.quote_field else self.field
        value = self.value
        value_text = value.text(markers) if isinstance(value, QueryValue) else markers[0]
        return f"{field} {self.operator} {value_text}"

    def bound(self) -> list[Any]:
        value = self.value
        return value.bound() if isinstance(value, QueryValue) else [value]

    def context(self) -> list[Any]:
        # In the CQL that ``str()`` returns, the client inserts the values itself, and IN needs
        # parentheses around them.
        if isinstance(self.operator, InOperator):
            return [ValueSequence(self.value)]
        return self.bound()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, WhereClause)
            and super().__eq__(other)
            and self.operator == other.operator
        )

    __hash__ = None


class AnnClause(BaseClause):
    """``ORDER BY column ANN OF vector``.

    :param field: the column's name in the database.
    :param value: the vector.
    """

    __slots__ = ()

    def text(self, markers: Sequence[str]) -> str:
        return f"{escape_name(self.field)} ANN OF {markers[0]}"


class ConditionalClause(BaseClause):
    """A condition in IF.

    :param field: the column's name in the database.
    :param value: the value to compare with.
    :param operator: an instance of a subclass of `BaseWhereOperator`; None for ``=``.
    """

    __slots__ = ("operator",)

    def __init__(
        self, field: str, value: object, operator: BaseWhereOperator | None = None
    ) -> None:
        super().__init__(field, value)
        self.operator = operator or EqualsOperator()

    def text(self, markers: Sequence[str]) -> str:
        return f"{escape_name(self.field)} {self.operator} {markers[0]}"

    def context(self) -> list[Any]:
        if isinstance(self.operator, InOperator):
            return [ValueSequence(self.value)]
        return [self.value]


class IsNotNullClause(WhereClause):
    """``IS NOT NULL``, which has no value.

    :param field: the column's name in the database.
    """

    __slots__ = ()

    def __init__(self, field: str) -> None:
        super().__init__(field, IsNotNullOperator(), "")

    def text(self, markers: Sequence[str]) -> str:
        return f"{escape_name(self.field)} {self.operator}"

    def bound(self) -> list[Any]:
        return []

    def context(self) -> list[Any]:
        return []


class IsNotNull(IsNotNullClause):
    """The filter ``Model.filter(IsNotNull("name"))``."""

    __slots__ = ()


class AssignmentClause(BaseClause):
    """``SET "name" = value``."""

    __slots__ = ()

    def text(self, markers: Sequence[str]) -> str:
        return f"{escape_name(self.field)} = {markers[0]}"

    @property
    def is_repeatable(self) -> bool:
        """True if applying the assignment twice leaves the same row as applying it once."""
        return True

    def insert_tuple(self) -> tuple[str, int | None]:
        """Return the column's name and the number of its marker, for INSERT."""
        return self.field, self.context_id


class ContainerUpdateTypeMapMeta(type):
    """Registers each subclass of `ContainerUpdateClause` in `type_map`, by its `col_type`."""

    type_map: dict[str, Any] = {}

    def __init__(cls, name: str, bases: tuple[type, ...], dct: dict[str, Any]) -> None:
        super().__init__(name, bases, dct)
        collection_name = dct.get("col_type")
        if collection_name is not None:
            cls.type_map[collection_name] = cls


class ContainerUpdateClause(AssignmentClause, metaclass=ContainerUpdateTypeMapMeta):
    """The assignments of an UPDATE that change a collection column.

    :param field: the column's name in the database.
    :param value: the new collection, or the operand of `operation`.
    :param operation: "add" or "remove" for a set, "append", "prepend" or "remove" for a list,
        "update" or "remove" for a map. With None, the clause changes only the elements that differ
        from `previous`, if CQL can do that.
    :param previous: the value that the column has in the database; None if the mapper does not
        know it.
    """

    __slots__ = ("operation", "previous")
    previous: Any

    col_type: ClassVar[str | None] = None

    def __init__(
        self, field: str, value: object, operation: str | None = None, previous: object = None
    ) -> None:
        super().__init__(field, value)
        self.operation = operation
        self.previous = previous

    def parts(self) -> list[tuple[str, list[Any]]]:
        """Return a tuple (CQL with ``{}`` for each marker, values) for each assignment.

        The list is empty if the column has not changed.
        """
        raise NotImplementedError

    @classmethod
    def previous_of(cls, value: Any, previous: Any, others: Sequence[Any]) -> Any:
        """Return the old value from which to compute the assignments after failed writes.

        Servers may have executed a failed write, so the column may have `previous` or any value in
        `others`. The assignments that lead from the returned value to `value` must lead from each
        of these values to `value`.

        None stands for no old value: the whole value is assigned.

        :param value: the new value.
        :param previous: the value that the column probably has in the database; None if the mapper
            does not know it.
        :param others: the values that the failed writes have sent.
        :returns: the old value; None to assign the whole column.
        """
        raise NotImplementedError

    def text(self, markers: Sequence[str]) -> str:
        templates = ", ".join(template for template, _ in self.parts())
        return templates.format(*markers)

    def bound(self) -> list[Any]:
        return [value for _, values in self.parts() for value in values]

    def _name(self) -> str:
        """Return the quoted name of the column for a template, with its braces doubled."""
        # `text` fills the template with str.format, which treats a single brace as part of a
        # marker.
        quoted = escape_name(self.field)
        return quoted.replace("{", "{{").replace("}", "}}")


class SetUpdateClause(ContainerUpdateClause):
    """The assignments of an UPDATE that change a set column."""

    __slots__ = ()
    col_type = "set"

    @classmethod
    def previous_of(cls, value: Any, previous: Any, others: Sequence[Any]) -> Any:
        if previous is None:
            return None
        old_values = [set(old or ()) for old in (previous, *others)]
        # `parts` adds each element of `value` that the returned set lacks, and removes each element
        # that only the returned set has. So return the elements that are in all old values (they
        # need not be added) and the elements of any old value that are not in `value` (they must
        # go).
        return set.intersection(*old_values) | (set.union(*old_values) - set(value))

    def parts(self) -> list[tuple[str, list[Any]]]:
        """Return (CQL with ``{}`` for each marker, values) of each assignment to the set."""
        name = self._name()
        if self.operation in ("add", "remove"):
            sign = "+" if self.operation == "add" else "-"
            return [(f"{name} = {name} {sign} {{}}", [self.value])]
        # If the mapper does not know the old value, it cannot compute a difference, so assign the
        # set. Also assign an empty set, which deletes all elements at once.
        if self.previous is None or not self.value:
            return [(f"{name} = {{}}", [self.value])]
        # Otherwise write only differences. An assignment would write a tombstone for the whole set,
        # and lose elements that other clients add at the same time.
        value, previous = set(self.value), set(self.previous)
        clauses = []
        if value - previous:
            clauses.append((f"{name} = {name} + {{}}", [value - previous]))
        if previous - value:
            clauses.append((f"{name} = {name} - {{}}", [previous - value]))
        return clauses


class ListUpdateClause(ContainerUpdateClause):
    """The assignments of an UPDATE that change a list column.

    They write only the elements that were added at the beginning and the end of the list, if the
    list has no other change; otherwise they write the whole list.
    """

    __slots__ = ()
    col_type = "list"

    @classmethod
    def previous_of(cls, value: Any, previous: Any, others: Sequence[Any]) -> Any:
        # Servers may have executed a failed write or not, and adding its elements once more would
        # double them. Assign the whole list, which deletes what the failed write has added.
        return None

    def parts(self) -> list[tuple[str, list[Any]]]:
        """Return (CQL with ``{}`` for each marker, values) of each assignment to the list."""
        name = self._name()
        if self.operation == "append":
            return [(f"{name} = {name} + {{}}", [self.value])]
        if self.operation == "prepend":
            return [(f"{name} = {{}} + {name}", [self.value])]
        if self.operation == "remove":
            return [(f"{name} = {name} - {{}}", [self.value])]
        previous, value = self.previous, self.value
        # If the new list contains the old list as a block, write only the elements before and after
        # this block: CQL can add elements at both ends of a list. Any other change assigns the
        # whole list.
        if previous and value and len(previous) < len(value):
            old, new = list(previous), list(value)
            index = _index_of(old, new)
            if index is not None:
                return self._extend_both_ends(name, new[:index], new[index + len(old) :])
        return [(f"{name} = {{}}", [value])]

    @property
    def is_repeatable(self) -> bool:
        # Only the assignment of an empty list is repeatable. If servers apply one of the other
        # changes twice, `append` and `prepend` add their elements twice, and `remove` may delete an
        # equal element that another client has added in the meantime. An assignment deletes only
        # elements with an older write time. A retry has the same write time as the first attempt,
        # so the elements of both attempts would stay.
        return not self.value and self.parts() == [(f"{self._name()} = {{}}", [self.value])]

    def _extend_both_ends(
        self, name: str, elements_before: list[Any], elements_after: list[Any]
    ) -> list[tuple[str, list[Any]]]:
        """Return the assignments that add elements before and after the old elements."""
        clauses = []
        if elements_before:
            clauses.append((f"{name} = {{}} + {name}", [elements_before]))
        if elements_after:
            clauses.append((f"{name} = {name} + {{}}", [elements_after]))
        return clauses


def _index_of(old: list[Any], new: list[Any]) -> int | None:
    """Return the index at which the elements of `old` are in `new`, one after another; or None."""
    for index in range(len(new) - len(old) + 1):
        if not are_different(new[index : index + len(old)], old):
            return index
    return None


class MapUpdateClause(ContainerUpdateClause):
    """The assignments that change a map column key by key; an item of None removes the key."""

    __slots__ = ()
    col_type = "map"

    @classmethod
    def previous_of(cls, value: Any, previous: Any, others: Sequence[Any]) -> Any:
        old_values = [old or {} for old in (previous, *others)]
        # `parts` writes each key whose item in the returned map differs from the item in `value`,
        # and deletes each key that only the returned map has. So return the keys that have the same
        # item in `value` and in all old maps, and the keys of any old map that are not in `value`.
        same = {
            key: item
            for key, item in value.items()
            if all(key in old and not are_different(old[key], item) for old in old_values)
        }
        removed = {key: item for old in old_values for key, item in old.items() if key not in value}
        return {**same, **removed}

    def parts(self) -> list[tuple[str, list[Any]]]:
        """Return (CQL with ``{}`` for each marker, values) of each assignment to the map."""
        name = self._name()
        value, previous = self.value, self.previous
        if self.operation == "remove":
            # CQL subtracts a set of keys from a map. The application may have passed the keys as
            # another collection.
            return [(f"{name} = {name} - {{}}", [set(value)])]
        # An empty map has no key to update. Assigning it deletes all keys.
        if self.operation != "update" and not value:
            return [(f"{name} = {{}}", [value])]
        # If the mapper does not know the old map, write all keys of the new map. This does not
        # delete other keys that the row may have.
        old: Mapping[Any, Any] = previous or {}
        clauses = [
            (f"{name}[{{}}] = {{}}", [key, item])
            for key, item in value.items()
            if key not in old or are_different(old[key], item)
        ]
        # Assigning null to a key deletes the key, so no DELETE is needed.
        clauses += [(f"{name}[{{}}] = {{}}", [key, None]) for key in old if key not in value]
        return clauses

    def is_assignment(self) -> bool:
        """Return True if the whole map is assigned."""
        return self.previous is None and self.operation is None


class CounterUpdateClause(AssignmentClause):
    """The assignment that adds the difference between two values to a counter column.

    :param field: the column's name in the database.
    :param value: the counter's new value.
    :param previous: the counter's old value; None for 0.
    """

    __slots__ = ("previous",)

    def __init__(self, field: str, value: object, previous: object = None) -> None:
        super().__init__(field, value)
        self.previous = previous or 0

    @property
    def is_repeatable(self) -> bool:
        return False  # if the assignment is sent twice, servers add the difference twice

    def text(self, markers: Sequence[str]) -> str:
        # CQL can only add a number to a counter or subtract one, so the difference of the new and
        # the old value is bound. The sign is in the CQL, so that this number is never negative.
        sign = "-" if self.value < self.previous else "+"
        name = escape_name(self.field)
        return f"{name} = {name} {sign} {markers[0]}"

    def bound(self) -> list[Any]:
        return [abs(self.value - self.previous)]


class BaseDeleteClause(BaseClause):
    """Base class of the clauses between DELETE and FROM: a column, or keys of a map."""

    __slots__ = ()


class FieldDeleteClause(BaseDeleteClause):
    """The clause that deletes one column.

    :param field: the column's name in the database.
    """

    __slots__ = ()

    def __init__(self, field: str) -> None:
        super().__init__(field, value=None)

    def text(self, markers: Sequence[str]) -> str:
        return escape_name(self.field)

    def bound(self) -> list[Any]:
        return []


class MapDeleteClause(BaseDeleteClause):
    """The clause that deletes keys of a map: the keys that are in `previous` and not in `value`.

    :param field: the column's name in the database.
    :param value: the new map, without the keys to delete.
    :param previous: the old map; None for an empty map.
    """

    __slots__ = ("previous",)
    previous: Any

    def __init__(self, field: str, value: object, previous: object = None) -> None:
        super().__init__(field, value)
        self.previous = previous or {}

    def text(self, markers: Sequence[str]) -> str:
        name = escape_name(self.field)
        return ", ".join(f"{name}[{marker}]" for marker in markers)

    def bound(self) -> list[Any]:
        value = self.value or {}
        return [key for key in self.previous if key not in value]


# Applications import these classes from `cassandra.cqlengine.statements`, and pickles store the
# name of a class's module. So set the name of that module, as in cassandra-driver.
for _class in list(vars().values()):
    if isinstance(_class, type) and _class.__module__ == __name__:
        _class.__module__ = "cassandra.cqlengine.statements"
del _class
