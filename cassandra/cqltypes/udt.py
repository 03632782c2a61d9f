"""The classes of user-defined types (UDTs).

Values of a UDT are decoded as named tuples, or as instances of a class that the application has
registered.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import partial
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakSet

from cassandra._bounded import Bounded, text_size
from cassandra.cqltypes.base import CassandraTypeType, inner_codec, public, trim_if_startswith
from cassandra.cqltypes.containers import TupleType, VectorType
from cassandra.util.cql_text import protect_type_or_function

if TYPE_CHECKING:
    from cassandra.cqltypes.base import CodecModule, _CassandraType
    from cassandra.cqltypes.codecs.base import Codec

# Estimates of memory in bytes, for the limits of the caches: of a type class with its named tuple
# class, and of each field.
_CLASS_BYTES = 5000
_FIELD_BYTES = 300

mapped_classes: WeakSet[type] = WeakSet()
"""The classes that applications have registered for user-defined types, for all clusters."""


class UserType(TupleType):
    """Base of the classes of user-defined types. `make_udt_class` makes these classes.

    `keyspace`, `typename`, `fieldnames` and `subtypes` define the type. To decode a value, the
    codec calls `mapped_class` with the fields as keyword arguments. If `mapped_class` is None, the
    value is decoded as a named tuple.
    """

    typename = "org.apache.cassandra.db.marshal.UserType"
    keyspace: ClassVar[str] = ""
    mapped_class: ClassVar[Any] = None
    tuple_type: ClassVar[Any] = None
    _cache: ClassVar[Bounded[Any, type[UserType]]] = Bounded(10_000, 1 << 25)

    @classmethod
    def make_udt_class(
        cls,
        keyspace: str,
        udt_name: str,
        field_names: Sequence[str],
        field_types: Sequence[Any],
        mapped_class: Callable[..., object] | None = None,
    ) -> type[UserType]:
        """Return the class of the user-defined type `udt_name`.

        Calls with the same definition and mapped class return the same class.

        :param keyspace: the name of the type's keyspace.
        :param udt_name: the name of the type.
        :param field_names: the fields' names, in order.
        :param field_types: the fields' types, classes of `cassandra.cqltypes`.
        :param mapped_class: the class of decoded values. None means a named tuple.
        :raises ValueError: if the numbers of names and types differ.
        """
        names, types = tuple(field_names), tuple(field_types)
        if len(names) != len(types):
            raise ValueError(
                f"{keyspace}.{udt_name} has {len(names)} field names and {len(types)} field types"
            )
        # The mapped class is part of the key, because two clusters may register different classes
        # for the same type.
        key = (cls, keyspace, udt_name, names, types, mapped_class)
        udt = cls._cache.get(key)
        if udt is None:
            new_type: Any = CassandraTypeType(
                str(udt_name),
                (cls,),
                {
                    "subtypes": types,
                    "cassname": cls.cassname,
                    "typename": udt_name,
                    "fieldnames": names,
                    "keyspace": keyspace,
                    "mapped_class": mapped_class,
                    "tuple_type": make_named_tuple(udt_name, names),
                    "__module__": cls.__module__,
                    "_registered": False,
                },
            )
            # Estimate the memory of the class in bytes, because the cache is bounded. The lengths
            # of names count three times, because about three copies of each name are kept.
            cost = (
                _CLASS_BYTES
                + _FIELD_BYTES * len(names)
                + 3 * (text_size(names) + len(udt_name) + len(keyspace))
            )
            udt = cls._cache.keep(key, new_type, cost)
        return udt

    @classmethod
    def evict_udt_class(cls, keyspace: str, udt_name: str) -> None:
        """Remove the classes of a user-defined type from the cache.

        :param keyspace: the name of the type's keyspace.
        :param udt_name: the name of the type.
        """
        cls._cache.discard(lambda key: bool(key[1:3] == (keyspace, udt_name)))

    @classmethod
    def apply_parameters(
        cls, subtypes: Sequence[Any], names: Sequence[Any] | None = None
    ) -> type[UserType]:
        """Return the class for the parameters in a server's class name.

        :param subtypes: the keyspace, the type's name in hex digits, and the types of the fields.
            The first two items are strings, or `UnrecognizedType` classes with these names.
        :param names: two items that are None (for the keyspace and the type's name), then the names
            of the fields in hex digits.
        """
        if len(subtypes) < 2:
            raise ValueError("a user-defined type has a keyspace and a name")
        keyspace = _text(subtypes[0])
        udt_name = _unhex(_text(subtypes[1]))
        # The first two items are None, because the keyspace and the type's name are not fields.
        field_names = tuple(_unhex(name) for name in tuple(names or ())[2:])
        return cls.make_udt_class(keyspace, udt_name, field_names, subtypes[2:])

    @classmethod
    def cql_parameterized_type(cls) -> str:
        """Return a name such as ``frozen<address>``."""
        return f"frozen<{protect_type_or_function(cls.typename)}>"

    @classmethod
    def cass_parameterized_type_with(cls, subtypes: Sequence[Any], full: bool = False) -> str:
        """Return a name such as ``UserType(keyspace, 6e616d65, 6669656c64:Int32Type)``."""
        cname = trim_if_startswith(cls.cassname, "org.apache.cassandra.db.marshal.")
        if full:
            cname = "org.apache.cassandra.db.marshal." + cname
        fields = [
            f"{name.encode().hex()}:{subtype.cass_parameterized_type(full=full)}"
            for name, subtype in zip(cls.fieldnames or (), subtypes, strict=False)
        ]
        return f"{cname}({', '.join([cls.keyspace, cls.typename.encode().hex(), *fields])})"

    @classmethod
    def _build(cls, codecs: CodecModule, protocol_version: int, vectors: str) -> Codec:
        """Make the codec of the user-defined type from the codecs of its fields."""
        fields = [
            inner_codec(subtype, codecs, protocol_version, vectors) for subtype in cls.subtypes
        ]
        name = f"{cls.keyspace}.{cls.typename}" if cls.keyspace else cls.typename
        return codecs.udt(
            name, cls.fieldnames or (), fields, _value_factory(cls), empty=cls._empty()
        )


def _text(parameter: str | type[_CassandraType]) -> str:
    return parameter if isinstance(parameter, str) else str(parameter.cassname)


def _unhex(name: str | type[_CassandraType]) -> str:
    try:
        return bytes.fromhex(_text(name)).decode("utf-8")
    except ValueError as error:
        raise ValueError(f"{name!r} is not the hex code of a name: {error}") from None


# A cache of the named tuple classes, so that unpickled values have the same class as decoded
# values.
_value_classes: Bounded[tuple[str, tuple[str, ...]], type[Any]] = Bounded(1024, 1 << 25)


def value_of_fields(name: str, names: tuple[str, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a value of a user-defined type. Unpickling such a value calls this function.

    :param name: the name of the type.
    :param names: the names of the type's fields.
    :param values: the values of the fields.
    """
    tuple_type = make_named_tuple(name, names)
    assert tuple_type is not None  # a type with duplicate names has plain tuples as values
    value: tuple[Any, ...] = tuple_type._make(values)
    return value


def make_named_tuple(name: str, names: tuple[str, ...]) -> type[Any] | None:
    """Return the named tuple class for the values of a user-defined type.

    If the name of a field is not valid in a named tuple, the field is named by its position
    (``field_1_``). Return None if two fields have the same name; the values are then plain tuples.
    """
    key = (name, names)
    cached = _value_classes.get(key)
    if cached is not None:
        return cached
    # A CQL type may have any name, but the class's name must be an identifier (here: in ASCII).
    # Otherwise the class is called "udt".
    title = name if name.isidentifier() and name.isascii() and not iskeyword(name) else "udt"
    fields = [
        field
        if field.isidentifier() and not iskeyword(field) and not field.startswith("_")
        else f"field_{index}_"
        for index, field in enumerate(names)
    ]
    if len(set(fields)) < len(fields):
        return None
    tuple_type: Any = namedtuple(title, fields)  # type: ignore[misc]

    def reduce(value: Any) -> tuple[Any, ...]:
        # Pickle the names and the values: pickle cannot find a class that was made at run time.
        return value_of_fields, (name, names, tuple(value))

    # Set both attributes on the class. pickle looks for `__reduce__` there, not in the instance.
    type.__setattr__(tuple_type, "__reduce__", reduce)
    # The object mapper finds fields by their names in the database.
    type.__setattr__(tuple_type, "__database_names__", names)
    # Estimate the memory of the class in bytes, because the cache is bounded. The lengths of names
    # count three times, because about three copies of each name are kept.
    size = _CLASS_BYTES + _FIELD_BYTES * len(names) + 3 * (len(name) + text_size(names))
    return _value_classes.keep(key, tuple_type, size)


def _value_factory(cls: type[UserType]) -> Callable[[list[Any]], Any]:
    """Return a function that makes a decoded value from the list of its fields' values."""
    names = tuple(cls.fieldnames or ())
    mapped_class = cls.mapped_class
    if mapped_class is dict:
        return lambda fields: dict(zip(names, fields, strict=True))
    if mapped_class is not None:
        return lambda fields: mapped_class(**dict(zip(names, fields, strict=True)))
    if cls.tuple_type is not None:
        # `tuple.__new__` is faster than the constructor of the named tuple, which takes each field
        # as an argument.
        return partial(tuple.__new__, cls.tuple_type)
    return tuple


public(UserType)


def with_subtypes(
    cql_type: Any, subtypes: Sequence[Any], mapped_class: Callable[..., object] | None = None
) -> type[_CassandraType]:
    """Return a copy of a parameterized type, in which other types replace its parameters.

    :param cql_type: a type with parameters.
    :param subtypes: the types that replace `cql_type.subtypes`.
    :param mapped_class: the class of decoded values, if `cql_type` is a user-defined type;
        otherwise None.
    """
    if issubclass(cql_type, UserType):
        return UserType.make_udt_class(
            cql_type.keyspace, cql_type.typename, cql_type.fieldnames or (), subtypes, mapped_class
        )
    if issubclass(cql_type, VectorType):
        return VectorType.apply_parameters((*subtypes, cql_type.vector_size))
    # A type with parameters is a subclass of the same type without parameters.
    base: type[_CassandraType] = cql_type.__base__
    return base.apply_parameters(subtypes, cql_type.fieldnames)
