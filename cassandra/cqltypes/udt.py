"""User-defined types: named fields, read as named tuples or as the class that a user registered."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import partial
from keyword import iskeyword
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from cassandra._bounded import Bounded, text_size
from cassandra.cqltypes.base import CassandraTypeType, public, sub_codec, trim_if_startswith
from cassandra.cqltypes.containers import TupleType, VectorType
from cassandra.util.cql_text import protect_type_or_function

if TYPE_CHECKING:
    from cassandra.cqltypes.base import _CassandraType

# Roughly the memory of a class and of its named tuple, and of that one's descriptor for a field.
_CLASS_BYTES = 5000
_FIELD_BYTES = 300


class UserType(TupleType):
    """A user-defined type. `make_udt_class` makes the class of one.

    `keyspace`, `typename`, `fieldnames` and `subtypes` define it. Values are read by calling
    `mapped_class` with the fields by keyword, or as a named tuple if there is none.
    """

    typename = "org.apache.cassandra.db.marshal.UserType"
    keyspace: ClassVar[str] = ""
    mapped_class: ClassVar[Any] = None
    tuple_type: ClassVar[Any] = None
    _cache: ClassVar[Bounded[Any, Any]] = Bounded(10_000, 1 << 25)

    @classmethod
    def make_udt_class(
        cls,
        keyspace: str,
        udt_name: str,
        field_names: Sequence[str],
        field_types: Sequence[Any],
        mapped_class: Callable[..., object] | None = None,
    ) -> Any:
        """Return the class of the user-defined type `udt_name`.

        The same definition and mapped class give the same class.

        :param keyspace: the name of the type's keyspace.
        :param udt_name: the name of the type.
        :param field_names: the fields' names, in order.
        :param field_types: their types, classes of `cassandra.cqltypes`.
        :param mapped_class: the class to make values of; None for a named tuple of the fields.
        :raises ValueError: if there are more or fewer names than types.
        """
        names, types = tuple(field_names), tuple(field_types)
        if len(names) != len(types):
            raise ValueError(
                f"{keyspace}.{udt_name} has {len(names)} field names and {len(types)} field types"
            )
        # The mapped class is part of the key: two clusters may map one type to different classes.
        key = (cls, keyspace, udt_name, names, types, mapped_class)
        udt = cls._cache.get(key)
        if udt is None:
            udt = CassandraTypeType(
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
            cost = (
                _CLASS_BYTES
                + _FIELD_BYTES * len(names)
                + 3 * (text_size(names) + len(udt_name) + len(keyspace))
            )
            udt = cls._cache.keep(key, udt, cost)
        return udt

    @classmethod
    def evict_udt_class(cls, keyspace: str, udt_name: str) -> None:
        """Forget the classes of a user-defined type.

        :param keyspace: the name of the type's keyspace.
        :param udt_name: the name of the type.
        """
        cls._cache.discard(lambda key: bool(key[1:3] == (keyspace, udt_name)))

    @classmethod
    def apply_parameters(cls, subtypes: Sequence[Any], names: Sequence[Any] | None = None) -> Any:
        """Return the class of (keyspace, hex-coded name, field types...).

        The first two may be strings, or the classes that a parser made of them.

        :param names: None for the first two parameters, then the hex-coded names of the fields.
        """
        if len(subtypes) < 2:
            raise ValueError("a user-defined type has a keyspace and a name")
        keyspace = _text(subtypes[0])
        udt_name = _unhex(_text(subtypes[1]))
        field_names = tuple(_unhex(name) for name in tuple(names or ())[2:])
        return cls.make_udt_class(keyspace, udt_name, field_names, subtypes[2:])

    @classmethod
    def cql_parameterized_type(cls) -> str:
        """Return a text like ``frozen<name>``."""
        return f"frozen<{protect_type_or_function(cls.typename)}>"

    @classmethod
    def cass_parameterized_type_with(cls, subtypes: Sequence[Any], full: bool = False) -> str:
        """Return a text like ``UserType(keyspace,hex(name),hex(field):type,...)``."""
        cname = trim_if_startswith(cls.cassname, "org.apache.cassandra.db.marshal.")
        if full:
            cname = "org.apache.cassandra.db.marshal." + cname
        fields = [
            f"{name.encode().hex()}:{subtype.cass_parameterized_type(full=full)}"
            for name, subtype in zip(cls.fieldnames or (), subtypes, strict=False)
        ]
        return f"{cname}({', '.join([cls.keyspace, cls.typename.encode().hex(), *fields])})"

    @classmethod
    def _build(cls, codecs: ModuleType, protocol_version: int, vectors: str) -> Any:
        fields = [sub_codec(subtype, codecs, protocol_version, vectors) for subtype in cls.subtypes]
        name = f"{cls.keyspace}.{cls.typename}" if cls.keyspace else cls.typename
        return codecs.udt(name, cls.fieldnames or (), fields, _maker(cls), empty=cls._empty())


def _text(parameter: str | type[_CassandraType]) -> str:
    return parameter if isinstance(parameter, str) else str(parameter.cassname)


def _unhex(name: str | type[_CassandraType]) -> str:
    try:
        return bytes.fromhex(_text(name)).decode("utf-8")
    except ValueError as error:
        raise ValueError(f"{name!r} is not the hex code of a name: {error}") from None


# A value that is unpickled has the class of those that come from the server.
_value_classes: Bounded[tuple[str, tuple[str, ...]], Any] = Bounded(1024, 1 << 25)


def value_of_fields(name: str, names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    """Return a value of a user-defined type; such values are pickled as calls of this.

    :param name: the name of the type.
    :param names: the names of its fields.
    """
    return make_named_tuple(name, names)._make(values)


def make_named_tuple(name: str, names: tuple[str, ...]) -> Any:
    """Return the named-tuple class of a type's fields.

    A field whose name is not valid in a named tuple is named by its position (``field_1_``).
    Returns None if two fields have the same name: values are plain tuples then.
    """
    # The name of a named tuple has to be an identifier; a type's name may be any text.
    key = (name, names)
    cached = _value_classes.get(key)
    if cached is not None:
        return cached
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
        # By what it is made of: pickle finds no class that was made at run time.
        return value_of_fields, (name, names, tuple(value))

    # Of the class: pickle does not look at instances.
    type.__setattr__(tuple_type, "__reduce__", reduce)
    # The mapper finds fields by these names, which need not be identifiers.
    type.__setattr__(tuple_type, "__database_names__", names)
    size = _CLASS_BYTES + _FIELD_BYTES * len(names) + 3 * (len(name) + text_size(names))
    return _value_classes.keep(key, tuple_type, size)


def _maker(cls: type[UserType]) -> Callable[[list[Any]], Any]:
    """Return a function that turns a list of field values into the value that the program sees."""
    names = tuple(cls.fieldnames or ())
    mapped = cls.mapped_class
    if mapped is dict:
        return lambda fields: dict(zip(names, fields, strict=True))
    if mapped is not None:
        return lambda fields: mapped(**dict(zip(names, fields, strict=True)))
    if cls.tuple_type is not None:
        # Past the constructor of the named tuple, which takes its fields as arguments one by one.
        return partial(tuple.__new__, cls.tuple_type)
    return tuple


public(UserType)


def with_subtypes(
    kind: Any, subtypes: Sequence[Any], mapped_class: Callable[..., object] | None = None
) -> Any:
    """Return the type that is like `kind`, with other types inside.

    :param kind: a type with parameters.
    :param subtypes: the types to have in place of `kind.subtypes`, as many.
    :param mapped_class: of a user-defined type, the class to make values of; None for none.
    """
    if issubclass(kind, UserType):
        return UserType.make_udt_class(
            kind.keyspace, kind.typename, kind.fieldnames or (), subtypes, mapped_class
        )
    if issubclass(kind, VectorType):
        return VectorType.apply_parameters((*subtypes, kind.vector_size))
    base: Any = kind.__base__
    return base.apply_parameters(subtypes, kind.fieldnames)
