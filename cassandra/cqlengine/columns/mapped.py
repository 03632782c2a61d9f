"""`Mapped`: the annotation of a column, for type checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:
    from cassandra.cqlengine.query.expressions import ColumnQueryEvaluator

T_co = TypeVar("T_co", covariant=True)


class Mapped(Generic[T_co]):
    """The annotation of a column: ``id: Mapped[uuid.UUID] = columns.UUID(primary_key=True)``.

    For a type checker, ``User.id`` is then a column, and ``user.id`` is a `uuid.UUID`. An
    annotation without a value, ``name: Mapped[str]``, creates the column for its type: see the
    table in the guide.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: type) -> ColumnQueryEvaluator: ...
        @overload
        def __get__(self, instance: object, owner: type) -> T_co: ...
        def __get__(self, instance: object | None, owner: type) -> Any: ...
        def __set__(self, instance: object, value: T_co) -> None: ...  # type: ignore[misc]
