"""Base of all type classes: the registry by name, and the way from a class to its codec.

A type is a class, never an instance. A class says what it is (`typename`, `cassname`, `subtypes`)
and how its codec is built (`_build`, from a module of codec factories). `codec()` returns the
codec, which is built once for each class:

- if the coding of a class is ours, the codec is the one of `_build`;
- if a program's own class overrides serialize, deserialize, to_binary or from_binary, the codec
  calls these, also for values inside a collection.

Our own serialize and the others use the codec of `_build`, so ``super().serialize(...)`` works in a
program's class. Setting a class attribute that codecs depend on (`support_empty_values`,
`mapped_class`, ...) makes all of them be built anew at their next use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import cassandra._impl as implementations
from cassandra._bounded import Bounded, text_size
from cassandra.cqltypes import calls
from cassandra.cqltypes.codecs.base import begin_page
from cassandra.sentinels import EMPTY, EmptyValue

if TYPE_CHECKING:
    from cassandra.cqltypes.codecs.base import Codec

apache_cassandra_type_prefix = "org.apache.cassandra.db.marshal."
DEFAULT_PROTOCOL_VERSION = 5

_by_cassname: dict[str, CassandraTypeType] = {}
_by_cqlname: dict[str, CassandraTypeType] = {}

# Class attributes that a codec takes over when it is built.
_PLAN_ATTRIBUTES = frozenset(
    {
        "support_empty_values",
        "empty_binary_ok",
        "mapped_class",
        "serialize",
        "deserialize",
        "to_binary",
        "from_binary",
        "subtypes",
    }
)


class _KnownCodecs:
    """The codecs of one class, valid for one generation."""

    __slots__ = ("by_key", "generation")

    # Counted up by each change that any codec may depend on: containers hold those of other types.
    current = 0
    # Counted up by each class that is registered by name.
    registered = 0

    def __init__(self) -> None:
        self.generation = _KnownCodecs.current
        self.by_key: dict[tuple[int, str], Any] = {}


def trim_if_startswith(s: str, prefix: str) -> str:
    """Return `s` without `prefix`, if it begins with it.

    :param s: the text.
    :param prefix: what it may begin with.
    """
    return s[len(prefix) :] if s.startswith(prefix) else s


class CassandraTypeType(type):
    """The metaclass of types: registers them by name, and notices changes of class attributes."""

    cassname: str
    typename: str

    def __new__(mcs, name: str, bases: tuple[type, ...], dct: dict[str, Any]) -> CassandraTypeType:
        """Make and register the class `name`.

        Classes with parameters, and those whose name begins with an underscore, are not registered.
        """
        dct.setdefault("cassname", name)
        cls = super().__new__(mcs, name, bases, dct)
        # A user-defined type may have any name: registered, it could take the place of ours.
        if not name.startswith("_") and name.isidentifier() and dct.get("_registered", True):
            _by_cassname[name] = cls
            _KnownCodecs.registered += 1
            if "typename" in dct and not cls.typename.startswith(apache_cassandra_type_prefix):
                # The first class of a CQL name keeps it: several stand for timestamp.
                _by_cqlname.setdefault(cls.typename, cls)
        calls.protect(cls)
        return cls

    def __setattr__(cls, name: str, value: object) -> None:
        # All codecs are made anew, not only this class's: containers hold those of their elements.
        if name in _PLAN_ATTRIBUTES:
            _KnownCodecs.current += 1
            calls.withdraw()
            # A program that puts back what it had replaced leaves nothing of its own behind.
            if name in calls.NAMES and calls.is_stock(cls, value):
                inherited = getattr(super(cls, cls), name, None)
                if name in cls.__dict__ and calls.is_stock(cls, inherited):
                    super().__delattr__(name)
                    return
        super().__setattr__(name, value)

    def __delattr__(cls, name: str) -> None:
        if name in _PLAN_ATTRIBUTES:
            _KnownCodecs.current += 1
            was_there = name in cls.__dict__
            calls.withdraw()
            if was_there and name not in cls.__dict__:
                return
        super().__delattr__(name)

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"


class _CassandraType(metaclass=CassandraTypeType):
    """Base of all types. A program's own type overrides `serialize` and `deserialize`.

    :param val: the value, which `validate` checks; kept as the attribute `val`.
    """

    subtypes: ClassVar[tuple[Any, ...]] = ()
    fieldnames: ClassVar[Any] = None
    num_subtypes: ClassVar[Any] = 0
    typename: ClassVar[str] = ""
    cassname: ClassVar[str] = ""

    # Zero bytes are a value of the type (text, blob), not a legacy empty.
    empty_binary_ok: ClassVar[bool] = False

    # True reads a legacy empty value as EMPTY, False as None. Most programs expect None.
    support_empty_values: ClassVar[bool] = False

    _factory: ClassVar[str] = "blob"
    _registered: ClassVar[bool] = True

    def __init__(self, val: object) -> None:
        self.val = self.validate(val)

    def __repr__(self) -> str:
        return f"<{self.cql_parameterized_type()}( {self.val!r} )>"

    @staticmethod
    def validate(val: Any) -> Any:
        """Return `val`. Types of a program may check or convert it.

        :param val: the value.
        """
        return val

    # -- the coding of values ----------------------------------------------------------------------

    @classmethod
    def from_binary(cls, byts: bytes | None, protocol_version: int) -> Any:
        """Return the value of a [bytes], by the rules for null and for empty values.

        :param byts: None for null.
        :param protocol_version: the version that it was encoded for.
        :raises DecodeError: if the bytes are not valid for the type.
        """
        cls._settle_calls()
        if byts is None:
            return None
        if len(byts) == 0 and not cls.empty_binary_ok:
            return EMPTY if cls.support_empty_values else None
        return cls.deserialize(byts, protocol_version)

    @classmethod
    def to_binary(cls, val: Any, protocol_version: int) -> bytes:
        """Return the bytes of `val`, or no bytes for None.

        :param val: the value, or None.
        :param protocol_version: the version to encode it for.
        :raises TypeError: if `val` is of a class that the type does not take.
        :raises ValueError: if `val` is out of range or badly formed.
        """
        cls._settle_calls()
        return b"" if val is None else cls.serialize(val, protocol_version)

    @classmethod
    def deserialize(cls, byts: bytes, protocol_version: int) -> Any:
        """Return the value of a body that is neither null nor empty.

        :param byts: the body.
        :param protocol_version: the version that it was encoded for.
        :raises DecodeError: if the bytes are not valid for the type.
        """
        cls._settle_calls()
        # A value that is decoded by itself counts as a page, for `limits.null_cells`.
        begin_page()
        return cls._native_codec(protocol_version, "list").decode(byts)

    @classmethod
    def serialize(cls, val: Any, protocol_version: int) -> bytes:
        """Return the body of `val`, which is not None. Raises the errors of `to_binary`.

        :param val: the value.
        :param protocol_version: the version to encode it for.
        """
        cls._settle_calls()
        encoded: bytes = cls._native_codec(protocol_version, "list").encode(val)
        return encoded

    @classmethod
    def _settle_calls(cls) -> None:
        """Let further calls take the fast way, if the coding is ours: see `calls`."""
        # Once for each change: a class of a program comes here with each value.
        if cls.__dict__.get("_calls_settled") != _KnownCodecs.current:
            settled = _KnownCodecs.current
            calls.install(cls, _generation)
            type.__setattr__(cls, "_calls_settled", settled)

    @classmethod
    def serial_size(cls) -> int | None:
        """Return the size of each value if a vector packs them without lengths, else None."""
        size: int = (
            cls.codec().fixed_size
            if not cls._overridden()
            else cls._native_codec(5, "list").fixed_size
        )
        return size if size >= 0 else None

    # -- codecs ------------------------------------------------------------------------------------

    @classmethod
    def codec(cls, protocol_version: int = DEFAULT_PROTOCOL_VERSION, vectors: str = "list") -> Any:
        """Return the codec of this type, in the implementation in use. It is made once.

        :param protocol_version: what the coding of a program's own type is called with.
        :param vectors: how vectors of numbers are read: "list", "array" (array.array) or "numpy".
        """
        cache = cls._known_codecs("_codecs")
        key = (protocol_version, vectors)
        codec = cache.by_key.get(key)
        if codec is None:
            codec = cache.by_key[key] = cls.build_codec(
                implementations.codecs, protocol_version, vectors
            )
        return codec

    @classmethod
    def build_codec(
        cls,
        codecs: ModuleType,
        protocol_version: int = DEFAULT_PROTOCOL_VERSION,
        vectors: str = "list",
    ) -> Any:
        """Return a codec of this type, made by the factories of `codecs`, a twin module.

        :param codecs: the module of codecs, compiled or not.
        :param protocol_version: the version that values are encoded for.
        :param vectors: what vectors of numbers are read as: "list", "array" or "numpy".
        """
        if cls._overridden():
            return codecs.from_class(
                cls,
                protocol_version,
                name=cls.cql_parameterized_type(),
                fixed_size=cls._build(codecs, protocol_version, vectors).fixed_size,
            )
        return cls._build(codecs, protocol_version, vectors)

    @classmethod
    def _native_codec(cls, protocol_version: int, vectors: str) -> Any:
        cache = cls._known_codecs("_native_codecs")
        key = (protocol_version, vectors)
        codec = cache.by_key.get(key)
        if codec is None:
            codec = cache.by_key[key] = cls._build(
                implementations.codecs, protocol_version, vectors
            )
        return codec

    @classmethod
    def _known_codecs(cls, attribute: str) -> _KnownCodecs:
        # Of this very class: getattr would find a parent's codecs, whose rules may differ.
        cache: _KnownCodecs | None = cls.__dict__.get(attribute)
        if cache is None or cache.generation != _KnownCodecs.current:
            cache = _KnownCodecs()
            setattr(cls, attribute, cache)
        return cache

    @classmethod
    def _overridden(cls) -> bool:
        """Return True if a program's class has taken over the coding."""
        return not (
            calls.is_stock(cls, cls.serialize)
            and calls.is_stock(cls, cls.deserialize)
            and calls.is_stock(cls, cls.to_binary)
            and calls.is_stock(cls, cls.from_binary)
        ) or (cls.empty_binary_ok and cls._factory not in _EMPTY_IS_VALUE)

    @classmethod
    def _empty(cls) -> EmptyValue | None:
        return EMPTY if cls.support_empty_values else None

    @classmethod
    def _build(cls, codecs: ModuleType, protocol_version: int, vectors: str) -> Any:
        """Return the codec of our own coding of this type."""
        return getattr(codecs, cls._factory)(cls.typename or cls.cassname, empty=cls._empty())

    # -- names and parameters ----------------------------------------------------------------------

    @classmethod
    def cass_parameterized_type_with(cls, subtypes: Sequence[Any], full: bool = False) -> str:
        """Return the server's class name with `subtypes` as parameters.

        :param subtypes: the types of the elements or fields.
        :param full: True puts the package before each name.
        """
        cname = cls.cassname
        if full and "." not in cname:
            cname = apache_cassandra_type_prefix + cname
        if not subtypes:
            return cname
        parameters = ", ".join(subtype.cass_parameterized_type(full=full) for subtype in subtypes)
        return f"{cname}({parameters})"

    @classmethod
    def apply_parameters(cls, subtypes: Sequence[Any], names: Sequence[Any] | None = None) -> Any:
        """Return the subclass of this type with `subtypes` as parameters.

        Equal parameters give the same class.

        :param subtypes: the types of the elements or fields, classes of `cassandra.cqltypes`.
        :param names: the names of fields, if the type has any.
        :raises ValueError: if their number is wrong.
        """
        subtypes = tuple(subtypes)
        if cls.num_subtypes != "UNKNOWN" and len(subtypes) != cls.num_subtypes:
            raise ValueError(
                f"{cls.typename or cls.cassname} takes {cls.num_subtypes} parameters, "
                f"got {len(subtypes)}"
            )
        if not subtypes:
            return cls
        fieldnames = None if names is None else tuple(names)
        return parameterized(cls, subtypes, fieldnames)

    @classmethod
    def cql_parameterized_type(cls) -> str:
        """Return the type as CQL has it, like ``map<text, int>``."""
        name = cls.typename or f"'{cls.cass_parameterized_type(full=True)}'"
        if not cls.subtypes or not cls.typename:
            return name
        return f"{name}<{', '.join(subtype.cql_parameterized_type() for subtype in cls.subtypes)}>"

    @classmethod
    def cass_parameterized_type(cls, full: bool = False) -> str:
        """Return the server's class name of the type, like ``MapType(UTF8Type, Int32Type)``.

        :param full: True puts the package before each name.
        """
        return cls.cass_parameterized_type_with(cls.subtypes, full=full)


def _generation() -> int:
    return _KnownCodecs.current


def rules_of_types() -> int:
    """Return a number that changes whenever a type's name or coding may stand for another one."""
    return _KnownCodecs.current + _KnownCodecs.registered


calls.stock_methods.update({name: _CassandraType.__dict__[name] for name in calls.NAMES})
_EMPTY_IS_VALUE = frozenset({"text", "ascii_text", "blob", "nothing"})

# Classes with parameters are kept, so that equal types are one class with one codec. A schema has
# few of them; the limit is for hostile or generated ones.
_CLASS_BYTES = 2000
_parameterized: Bounded[Any, Any] = Bounded(10_000, 1 << 25)


def parameterized(
    cls: type[_CassandraType],
    subtypes: tuple[Any, ...],
    fieldnames: tuple[Any, ...] | None,
    **attributes: Any,
) -> Any:
    """Return the subclass of `cls` with `subtypes` and further class `attributes`.

    It comes from the cache if it was made before.
    """
    key = (cls, subtypes, fieldnames, *attributes.values())
    subclass = _parameterized.get(key)
    if subclass is None:
        name = attributes.pop("_title", None) or cls.cass_parameterized_type_with(subtypes)
        metaclass: type[Any] = type(cls)
        subclass = metaclass(
            name,
            (cls,),
            {
                "subtypes": subtypes,
                "cassname": cls.cassname,
                "fieldnames": fieldnames,
                "__module__": cls.__module__,
                "_registered": False,
                **attributes,
            },
        )
        subclass = _parameterized.keep(
            key,
            subclass,
            _CLASS_BYTES + 3 * len(name) + 3 * text_size(fieldnames) + 8 * len(subtypes),
        )
    return subclass


def sub_codec(
    cls: type[_CassandraType], codecs: ModuleType, protocol_version: int, vectors: str
) -> Codec:
    """Return the codec of a type inside another.

    It is the shared one if `codecs` is the implementation in use.
    """
    codec: Codec = (
        cls.codec(protocol_version, vectors)
        if codecs is implementations.codecs
        else cls.build_codec(codecs, protocol_version, vectors)
    )
    return codec


def public(*classes: Any) -> None:
    """Give classes and functions their public path."""
    for public_object in classes:
        public_object.__module__ = "cassandra.cqltypes"


CassandraType = _CassandraType
Builder = Callable[[ModuleType, int, str], Any]

public(CassandraTypeType, _CassandraType)
