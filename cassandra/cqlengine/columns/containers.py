"""Collections, tuples, vectors and values of user-defined types."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeGuard, TypeVar

from cassandra._unknown_options import advise_missing
from cassandra.cqlengine.clauses import ListUpdateClause, MapUpdateClause, SetUpdateClause
from cassandra.cqlengine.columns.base import BaseValueManager, Column, T, reads_rows_as_they_are
from cassandra.cqlengine.columns.scalars import BaseFloat, Integer
from cassandra.cqlengine.copies import snapshot
from cassandra.cqlengine.errors import ValidationError
from cassandra.util.cql_text import protect_name

if TYPE_CHECKING:
    from cassandra.cqlengine.usertype import UserType

_Function = TypeVar("_Function", bound=Callable[..., Any])

K = TypeVar("K")
V = TypeVar("V")
U = TypeVar("U", bound="UserType")
# The maximum number of elements of one value. Since protocol version 3, the number of elements has
# 32 bits, so collections could be larger. The mapper keeps the older, documented limit, because
# servers read a collection as a whole.
MOST_ELEMENTS = 65535


def _build_column(argument: Column[Any] | type[Column[Any]], owner: object) -> Column[Any]:
    """Return the column of an element.

    :param argument: the element's column, or a column class.
    :param owner: the column that has the elements, for errors.
    """
    if isinstance(argument, type) and issubclass(argument, Column):
        argument = argument()
    column = argument
    if not isinstance(column, Column):
        raise ValidationError(
            f"the elements of {type(owner).__name__} are columns, not {argument!r}"
            f"{_element_advice(argument)}"
        )
    if column.is_counter:
        raise ValidationError("counters cannot be elements of other columns")
    if type(column) is Column:
        raise ValidationError(
            f"the elements of {type(owner).__name__} need a type: {column!r} has none"
        )
    return column


def _element_advice(argument: object) -> str:
    """Return what to write instead of `argument` for the elements of a column; "" if unknown."""
    if is_user_type(argument):
        return f": write columns.UserDefinedType({argument.__name__})"
    name = argument.__name__ if isinstance(argument, type) else argument
    column = _COLUMNS_OF_TYPES.get(name) if isinstance(name, str) else None
    return f": write columns.{column}" if column else ", such as columns.Text"


# Maps the names of Python and CQL types to the columns for values of these types.
_COLUMNS_OF_TYPES = {
    "UUID": "UUID",
    "bigint": "BigInt",
    "blob": "Blob",
    "bool": "Boolean",
    "boolean": "Boolean",
    "bytes": "Blob",
    "date": "Date",
    "datetime": "DateTime",
    "double": "Double",
    "float": "Double",
    "int": "Integer",
    "str": "Text",
    "text": "Text",
    "timestamp": "DateTime",
    "uuid": "UUID",
    "varchar": "Text",
}


def is_user_type(value: object) -> TypeGuard[type[UserType]]:
    """Return True if a value is a subclass of `UserType`.

    This module cannot import `UserType`, because the module of that class imports this one.

    :param value: any object.
    """
    return isinstance(value, type) and hasattr(value, "type_name") and hasattr(value, "__fields__")


class BaseCollectionColumn(Column[T]):
    """Base class of the columns whose values have elements.

    :param types: the columns of the elements.
    :param kwargs: the settings of `Column`, by name.
    """

    mutable = True
    frozen: bool = False
    # True if this is the column of an element, or of a field of a user-defined type. The server
    # then stores the collection as part of another value.
    is_inside = False

    def __init__(self, types: Sequence[Column[Any] | type[Column[Any]]], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.types = [_build_column(argument, self) for argument in types]
        for column in self.types:
            column.column_name = None
            if isinstance(column, BaseCollectionColumn):
                column.is_inside = True

    @property
    def db_type(self) -> str:  # type: ignore[override]
        """The type in CQL, with its parameters."""
        return self._type_text()

    def _type_text(self) -> str:
        raise NotImplementedError

    def set_column_name(self, name: str) -> None:
        """Set the name of the attribute, for this column and the columns of its elements."""
        super().set_column_name(name)
        for column in self.types:
            # An element has no attribute name. Errors about it name the attribute that contains it.
            column.owner = self.owner
            column.set_column_name(name)

    @property
    def sub_types(self) -> list[Column[Any]]:
        return list(self.types)

    def _check_size(self, value: Sized) -> None:
        """Raise ValidationError if `value` has too many elements."""
        if len(value) > MOST_ELEMENTS:
            raise ValidationError(
                f"{self.label} has {len(value)} elements; a collection can have {MOST_ELEMENTS}"
            )

    def _element(
        self, column: Column[Any], value: object, description: str = "an element"
    ) -> object:
        """Return one element after its column has validated it; raise ValidationError for None."""
        if value is None:
            raise ValidationError(f"{self.label}: None is not allowed as {description}")
        return column.validate(value)

    def _isolates(self) -> bool:
        # The `to_python` methods of this module create a new collection. The new collection shares
        # a mutable object with its source only if one of its elements does.
        return self._is_stock() and all(column._isolates() for column in self.types)

    @property
    def wire(self) -> Callable[[Any], Any] | None:
        # If `to_database` only converts the elements, and the elements need no conversion, return
        # None: values are then bound as they are.
        only_elements = getattr(type(self).to_database, "by_elements", False)
        if only_elements and all(column.wire is None for column in self.types):
            return None
        return self.to_database


def _length(value: Any) -> int | None:
    """Return the number of elements; None for a value that has no elements.

    A NumPy array without dimensions has the method `__len__`, but the method raises TypeError.
    """
    try:
        return len(value)
    except TypeError:
        return None


def _is_iterable(value: Any) -> TypeGuard[Iterable[Any]]:
    """Return True if `iter` accepts a value.

    It does not accept a NumPy array without dimensions, which has the method `__iter__`.
    """
    try:
        iter(value)
    except TypeError:
        return False
    return True


def by_elements(function: _Function) -> _Function:
    """Mark a `to_database` that converts only the elements, so that `wire` may be None."""
    marked: Any = function
    marked.by_elements = True
    return function


class BaseContainerColumn(BaseCollectionColumn[T]):
    """Base class of list, set and map.

    :param types: the columns of the elements; for a map, the columns of keys and values.
    :param frozen: True to store the collection as one value: it is changed as a whole, and may be
        part of a key.
    :param kwargs: the settings of `Column`, by name.
    """

    def __init__(
        self,
        types: Sequence[Column[Any] | type[Column[Any]]],
        frozen: bool = False,
        **kwargs: Any,
    ) -> None:
        self.frozen = frozen
        super().__init__(types, **kwargs)

    cql_name: ClassVar[str] = ""
    # A template for error messages: a collection with one element. ``{}`` stands for the element.
    example: ClassVar[str] = ""

    def _type_text(self) -> str:
        inner = f"{self.cql_name}<{', '.join(column.element_type for column in self.types)}>"
        return f"frozen<{inner}>" if self.frozen else inner

    @property
    def element_type(self) -> str:
        # CQL refuses a collection inside another type unless it is frozen.
        return self.db_type if self.frozen else f"frozen<{self.db_type}>"

    def is_null(self, value: object) -> bool:
        # Servers store an empty collection as null unless it is frozen. Treat an empty frozen
        # collection as null too: the mapper reads null as an empty collection anyway.
        return value is None or _length(value) == 0


class Set(BaseContainerColumn[set[T]], Generic[T]):
    """A set.

    :param value_type: the column of the elements, an instance or a class.
    :param strict: True to accept only sets, False to accept lists and tuples too.
    :param default: the value of new instances; an empty set by default.
    :param frozen: True to store the collection as one value: it is changed as a whole, and may be
        part of a key.
    :param kwargs: the settings of `Column`, by name.
    """

    cql_name = "set"
    example = "{{{}}}"

    def __init__(
        self,
        value_type: Column[T] | type[Column[T]],
        strict: bool = True,
        default: object = set,
        frozen: bool = False,
        **kwargs: Any,
    ) -> None:
        self.strict = strict
        super().__init__((value_type,), frozen=frozen, default=default, **kwargs)
        self.value_col = self.types[0]
        if not frozen:
            # CQL has no + and - for a frozen set, so a frozen set has no update clause: an UPDATE
            # always assigns the whole set.
            self.update_clause = SetUpdateClause  # type: ignore[misc]

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None:
            return None
        # If `strict` is False, lists and tuples are accepted and converted to sets. `_is_set`
        # accepts the driver's own set classes in both cases.
        accepted_types: tuple[type, ...] = (set, frozenset)
        if not self.strict:
            accepted_types += (list, tuple)
        if not isinstance(value, accepted_types) and not _is_set(value):
            _refuse_string(self, value, self.cql_name, self.example)
            problem = "is not a set object" if self.strict else "cannot be coerced to a set object"
            raise ValidationError(f"{self.label} {value!r} {problem}")
        self._check_size(value)
        return {self._element(self.value_col, element) for element in value}

    def to_python(self, value: object) -> set[Any]:
        if value is None:
            # Read null as an empty set: applications call ``add`` without checking whether the row
            # has a set.
            return set()
        return {self.value_col.to_python(element) for element in _iterable(self, value)}

    @by_elements
    def to_database(self, value: object) -> object:
        if value is None:
            return None
        return {self.value_col.to_database(element) for element in _iterable(self, value)}

    def _stock_copier(self) -> Callable[[Any], Any]:
        copy_element = self.value_col._copier()
        return set if copy_element is None else lambda value: set(map(copy_element, value))


def _is_set(value: object) -> bool:
    """Return True if `value` has the interface of a set.

    The driver's own set classes do not derive from set.
    """
    return isinstance(value, Collection) and hasattr(value, "isdisjoint") and not _is_map(value)


def _is_map(value: object) -> bool:
    return isinstance(value, Mapping) or hasattr(value, "items")


# Iterable classes that are not collections: each character or byte would become an element.
_STRINGS = (str, bytes, bytearray)


def _refuse_string(column: Column[Any], value: object, noun: str, example: str) -> None:
    """Raise ValidationError for a string where a collection is expected.

    :param noun: what the column holds: "list", "set" or "tuple".
    :param example: the collection to write instead, where ``{}`` is the string.
    :raises ValidationError: if `value` is a string or bytes.
    """
    if isinstance(value, _STRINGS):
        raise _wrong_class(column, value, noun, example)


def _wrong_class(column: Column[Any], value: object, noun: str, example: str) -> ValidationError:
    """Return the error for a value that is no collection. See `_refuse_string` for `example`."""
    return ValidationError(
        f"{column.label} {value!r} is a {type(value).__name__}, not a {noun}: "
        f"write {example.format(repr(value))}"
    )


def removed_keys(column: Map[Any, Any], value: object) -> set[Any]:
    """Return the keys to remove from a map, in the form that is bound.

    :raises ValidationError: if `value` is a string, whose characters are no keys, or not iterable.
    """
    if isinstance(value, _STRINGS) or not _is_iterable(value):
        raise _wrong_class(column, value, "set of keys", "{{{}}}")
    return {column.key_col.to_filter(key) for key in value}


def _iterable(column: BaseContainerColumn[Any], value: object) -> Iterable[Any]:
    """Return `value` if it is an iterable other than a string; otherwise raise ValidationError."""
    _refuse_string(column, value, column.cql_name, column.example)
    if not _is_iterable(value):
        raise ValidationError(f"{column.label} {value!r} ({type(value)}) is not a collection")
    return value


class List(BaseContainerColumn[list[T]], Generic[T]):
    """A list.

    :param value_type: the column of the elements, an instance or a class.
    :param default: the value of new instances; an empty list by default.
    :param frozen: True to store the collection as one value: it is changed as a whole, and may be
        part of a key.
    :param kwargs: the settings of `Column`, by name.
    """

    cql_name = "list"
    example = "[{}]"

    def __init__(
        self,
        value_type: Column[T] | type[Column[T]],
        default: object = list,
        frozen: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__((value_type,), frozen=frozen, default=default, **kwargs)
        self.value_col = self.types[0]
        # CQL has no + and - for a frozen list, so an UPDATE always assigns the whole list.
        if not frozen:
            self.update_clause = ListUpdateClause  # type: ignore[misc]

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None:
            return None
        # Accept sets too, as cassandra-driver does; `_is_set` finds the driver's own set classes.
        if not isinstance(value, (list, tuple, set, frozenset)) and not _is_set(value):
            _refuse_string(self, value, self.cql_name, self.example)
            raise ValidationError(f"{self.label} {value!r} is not a list object")
        self._check_size(value)
        return [self._element(self.value_col, element) for element in value]

    def to_python(self, value: object) -> list[Any]:
        if value is None:
            return []
        return [self.value_col.to_python(element) for element in _iterable(self, value)]

    @by_elements
    def to_database(self, value: object) -> object:
        if value is None:
            return None
        return [self.value_col.to_database(element) for element in _iterable(self, value)]

    def _stock_copier(self) -> Callable[[Any], Any]:
        copy_element = self.value_col._copier()
        if copy_element is None:
            return list
        return lambda value: [None if item is None else copy_element(item) for item in value]


class Map(BaseContainerColumn[dict[K, V]], Generic[K, V]):
    """A map.

    If an item is None, an UPDATE deletes its key. Servers refuse an INSERT with such an item.

    :param key_type: the column of the keys.
    :param value_type: the column of the values.
    :param default: the value of new instances; an empty dict by default.
    :param frozen: True to store the collection as one value: it is changed as a whole, and may be
        part of a key.
    :param kwargs: the settings of `Column`, by name.
    """

    cql_name = "map"

    def __init__(
        self,
        key_type: Column[K] | type[Column[K]],
        value_type: Column[V] | type[Column[V]],
        default: object = dict,
        frozen: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__((key_type, value_type), frozen=frozen, default=default, **kwargs)
        self.key_col, self.value_col = self.types
        # CQL cannot change single keys of a frozen map, so an UPDATE always assigns the whole map.
        if not frozen:
            self.update_clause = MapUpdateClause  # type: ignore[misc]

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None:
            return None
        if not _is_map(value) or not hasattr(value, "__len__"):
            raise ValidationError(f"{self.label} {value!r} is not a dict object")
        self._check_size(value)
        # A value of None means that an UPDATE deletes this key, which only works for maps that are
        # updated key by key. A map that is written as a whole cannot contain nulls.
        takes_none = not self.frozen and not self.is_inside
        return {
            self._element(self.key_col, key, "a key"): (
                None
                if item is None and takes_none
                else self._element(self.value_col, item, "a value")
            )
            for key, item in value.items()
        }

    def to_python(self, value: Any) -> dict[Any, Any]:
        if value is None:
            return {}
        if not _is_map(value):
            raise ValidationError(f"{self.label} {value!r} is not a dict object")
        key_of, value_of = self.key_col.to_python, self.value_col.to_python
        return {key_of(key): value_of(item) for key, item in value.items()}

    @by_elements
    def to_database(self, value: Any) -> object:
        if value is None:
            return None
        key_of, value_of = self.key_col.to_database, self.value_col.to_database
        return {
            key_of(key): None if item is None else value_of(item) for key, item in value.items()
        }

    def _stock_copier(self) -> Callable[[Any], Any]:
        """Return a function that copies a map, and those of its items that may change in place."""
        copy_item = self.value_col._copier()
        if copy_item is None:
            # Items that cannot change in place need no copy.
            return dict
        # Keys need no copy: they are hashed, so they do not change in place.
        return lambda value: {
            key: None if item is None else copy_item(item) for key, item in value.items()
        }


class Tuple(BaseCollectionColumn[tuple[Any, ...]]):
    """A tuple; its elements may be None.

    :param args: the columns of the elements.
    :param kwargs: the settings of `Column`, by name.
    :raises ValueError: if there are no columns.
    """

    mutable = False

    def __init__(self, *args: Column[Any] | type[Column[Any]], **kwargs: Any) -> None:
        if not args:
            raise ValueError(
                "Tuple needs the columns of its elements: write columns.Tuple(columns.Text, "
                "columns.Integer)"
            )
        super().__init__(args, **kwargs)

    def _type_text(self) -> str:
        return f"tuple<{', '.join(column.element_type for column in self.types)}>"

    @property
    def element_type(self) -> str:
        return f"frozen<{self.db_type}>"

    def _checked_tuple(self, value: object) -> Collection[Any]:
        """Return `value` if it is a collection with at most as many elements as the tuple type."""
        _refuse_string(self, value, "tuple", "({},)")
        if not isinstance(value, Collection) or _length(value) is None:
            raise ValidationError(f"{self.label} {value!r} is not a tuple")
        # A tuple may be shorter: the missing fields at its end are null.
        if len(value) > len(self.types):
            raise ValidationError(
                f"{self.label} {value!r} has {len(value)} elements, but {self.db_type} has "
                f"{len(self.types)}"
            )
        return value

    def validate(self, value: object) -> Any:
        value = super().validate(value)
        if value is None:
            return None
        pairs = zip(self.types, self._checked_tuple(value), strict=False)
        return tuple(None if item is None else column.validate(item) for column, item in pairs)

    def to_python(self, value: object) -> Any:
        if value is None:
            return None
        pairs = zip(self.types, self._checked_tuple(value), strict=False)
        # Inside the tuple too, read null as an empty collection, as a collection column does.
        return tuple(
            None
            if item is None and not isinstance(column, BaseContainerColumn)
            else column.to_python(item)
            for column, item in pairs
        )

    @by_elements
    def to_database(self, value: Any) -> object:
        # The driver may return () for null, so bind () as null. A tuple that was read then keeps
        # its value in the database when it is saved.
        if value is None or not len(value):
            return None
        pairs = zip(self.types, self._checked_tuple(value), strict=False)
        return tuple(None if item is None else column.to_database(item) for column, item in pairs)

    def is_null(self, value: Any) -> bool:
        return value is None or _length(value) == 0

    def _stock_copier(self) -> Callable[[Any], Any] | None:
        """Return a function that copies a tuple and its elements; None if no copy is needed."""
        copiers = [column._copier() for column in self.types]
        # If no element can change in place, tuples need no copy.
        if all(copier is None for copier in copiers):
            return None

        def copy_elements(value: Any) -> object:
            """Copy the elements that have a copier, and keep all other elements as they are."""
            if value is None:
                return None
            return tuple(
                item if copier is None or item is None else copier(item)
                for copier, item in zip(copiers, value, strict=False)
            )

        return copy_elements


# The similarity functions that the index of a vector column may use.
_SIMILARITIES = ("cosine", "dot_product", "euclidean")


class Vector(BaseCollectionColumn[list[T]], Generic[T]):
    """A vector with a fixed number of elements: ``Vector(Float, 768)``.

    A vector is always changed as a whole. With ``index=True``, `sync_table` creates a
    storage-attached index, which can order rows (``order_by(Model.column.ann_of(vector))``).

    :param value_type: the column of the elements.
    :param dimension: the number of elements.
    :param similarity: the index's measure of similarity: "cosine", "dot_product" or "euclidean";
        None for the server's default.
    :param kwargs: the settings of `Column`, by name.
    :raises ValueError: if `dimension` is not a positive number, or `similarity` is unknown.
    """

    index_class = "StorageAttachedIndex"

    def __init__(
        self,
        value_type: Column[T] | type[Column[T]],
        dimension: int,
        similarity: str | None = None,
        **kwargs: Any,
    ) -> None:
        if similarity not in (None, *_SIMILARITIES):
            raise ValueError(
                f"the similarity of a vector is one of {', '.join(_SIMILARITIES)}, "
                f"not {similarity!r}"
            )
        self.similarity = similarity
        if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
            raise ValueError(f"the dimension of a vector is a number from 1 on, not {dimension!r}")
        self.dimension = dimension
        super().__init__((value_type,), **kwargs)
        self.value_col = self.types[0]
        # True if the codec checks all elements at once. Checking each element here would take
        # longer than the rest of an insert. This needs a value column without `wire`: the `wire` of
        # an application's column class may convert the elements.
        self._codec_checks_elements = self.value_col.wire is None and (
            type(self.value_col).validate in (Integer.validate, BaseFloat.validate)
        )

    def index_options(self) -> str:
        if self.similarity is None:
            return ""
        return f" WITH OPTIONS = {{'similarity_function': '{self.similarity}'}}"

    def _type_text(self) -> str:
        return f"vector<{self.types[0].element_type}, {self.dimension}>"

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None:
            return None
        length = _length(value)
        if isinstance(value, _STRINGS) or length is None or _is_map(value):
            raise ValidationError(f"{self.label} {value!r} is not a vector")
        if length != self.dimension:
            raise ValidationError(
                f"{self.label} has {length} elements, but its dimension is {self.dimension}"
            )
        if not self._codec_checks_elements:
            return [self._element(self.value_col, element) for element in value]
        if isinstance(value, (list, tuple)):
            # Call `validate` directly: calling `_element` for each number would take longer than
            # all other steps together. If an element is None, the call of `_element` below raises
            # the error.
            validate = self.value_col.validate
            return [
                self._element(self.value_col, element) if element is None else validate(element)
                for element in value
            ]
        return value  # an array of numbers, which the codec accepts as it is

    @property
    def converts(self) -> bool:
        return super().converts or self.value_col.converts

    @reads_rows_as_they_are
    def to_python(self, value: Any) -> Any:
        # Convert the elements only if their column needs it. Most columns do not, and the vector,
        # which may be an array of numbers, stays as it is.
        if value is not None and self.value_col.converts:
            return [self.value_col.to_python(element) for element in value]
        return list(value) if isinstance(value, tuple) else value

    @by_elements
    def to_database(self, value: Any) -> object:
        if value is None or self._codec_checks_elements:
            return value
        return [self.value_col.to_database(element) for element in value]

    def _isolates(self) -> bool:
        return False

    def _owner(self) -> Callable[[Any], Any] | None:
        # This is faster than `snapshot` for a long list of numbers.
        return self._copier() if self.value_col._copier() is None else super()._owner()

    def _stock_copier(self) -> Callable[[Any], Any]:
        """Return a function that copies a vector: a list of elements, or an array of numbers."""
        copy_element = self.value_col._copier()

        def copy_elements(value: Any) -> object:
            if type(value) is not list:  # None, or an array of numbers
                return snapshot(value)
            return value[:] if copy_element is None else list(map(copy_element, value))

        return copy_elements


class UDTValueManager(BaseValueManager):
    """Holds a value of a user-defined type; a change of one of its fields counts as a change."""

    @property
    def changed(self) -> bool:
        changed = getattr(self.value, "has_changed_fields", None)
        return super().changed or bool(changed is not None and changed())

    def reset_previous_value(self) -> None:
        if self.value is not None:
            self.value.reset_changed_fields()
        super().reset_previous_value()


class UserDefinedType(Column[U], Generic[U]):
    """A column for a user-defined type, stored as one value.

    :param user_type: a subclass of `UserType`.
    :param kwargs: the settings of `Column`, by name.
    """

    value_manager = UDTValueManager
    mutable = True

    def __init__(self, user_type: type[U], **kwargs: Any) -> None:
        if not is_user_type(user_type):
            raise TypeError(
                f"the type is a subclass of UserType, not {user_type!r}: write "
                "columns.UserDefinedType(Address), with the class"
            )
        self.user_type = user_type
        super().__init__(**kwargs)

    @property
    def db_type(self) -> str:  # type: ignore[override]
        """The type in CQL: ``frozen<name>``."""
        # The type is always frozen, because the mapper always writes a value of the type as a
        # whole.
        return f"frozen<{protect_name(self.user_type.type_name())}>"

    @property
    def sub_types(self) -> list[Column[Any]]:
        return list(self.user_type.fields().values())

    def _instance(self, value: object) -> UserType:
        """Return `value` as an instance of `user_type`.

        `value` may be a named tuple: the driver returns these for a type whose class is not
        registered with the cluster.
        """
        if isinstance(value, self.user_type):
            return value
        instance = self.user_type.from_value(value)
        if instance is None:
            raise ValidationError(
                f"{self.label} {value!r} is not a value of {self.user_type.__name__}"
            )
        return instance

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None:
            return None
        value = self._instance(value)
        value.validate()
        return value

    def to_python(self, value: object) -> Any:
        return None if value is None else self._instance(value)

    def to_database(self, value: object) -> object:
        return None if value is None else self._instance(value).to_database()

    def _stock_copier(self) -> Callable[[Any], Any]:
        copiers = {name: field._copier() for name, field in self.user_type.fields().items()}
        return lambda value: None if value is None else value._copy(copiers)


def resolve_udts(col_def: Column[Any], out_list: list[type[UserType]]) -> None:
    """Append the user-defined types of a column to `out_list`, each after the types that it uses.

    :param col_def: a column.
    :param out_list: the list to append to.
    """
    for column in col_def.sub_types:
        # Append the types of elements and fields first: CREATE TYPE fails if the type of a field
        # does not exist yet.
        resolve_udts(column, out_list)
    if isinstance(col_def, UserDefinedType):
        out_list.append(col_def.user_type)


advise_missing(List, "columns.List(columns.Text)")
advise_missing(Set, "columns.Set(columns.Text)")
advise_missing(Map, "columns.Map(columns.Text, columns.Integer)")
advise_missing(Vector, "columns.Vector(columns.Float, 768)")
advise_missing(UserDefinedType, "columns.UserDefinedType(Address)")
