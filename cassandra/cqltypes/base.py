"""What all type classes share: the registry by name, and the way from a class to its codec.

A type is a class, never an instance. A class says what it is (`typename`, `cassname`, `subtypes`)
and how its codec is built (`_build`, from a module of codec factories). `codec()` gives the codec,
built once per class:

- a class whose coding is ours gets the plan of `_build`;
- a class of a user's that overrides serialize, deserialize, to_binary or from_binary gets a plan
  that calls it, also where it stands inside a collection.

Our own serialize and the others go through the plan of `_build`, so ``super().serialize(...)`` in a
user's class works. Setting a class attribute that a plan depends on (`support_empty_values`,
`mapped_class`, ...) makes all plans be built anew at their next use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, ClassVar

import cassandra._impl as implementations
from cassandra._bounded import Bounded, text_size
from cassandra.cqltypes.codecs.base import begin_page
from cassandra.sentinels import EMPTY, EmptyValue

apache_cassandra_type_prefix = "org.apache.cassandra.db.marshal."
DEFAULT_PROTOCOL_VERSION = 5

_by_cassname: dict[str, CassandraTypeType] = {}
_by_cqlname: dict[str, CassandraTypeType] = {}

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


class _Plans:
    """The codecs of one class, as of one generation."""

    __slots__ = ("by_key", "generation")

    current = 0

    def __init__(self) -> None:
        self.generation = _Plans.current
        self.by_key: dict[tuple[int, str], Any] = {}


def trim_if_startswith(s: str, prefix: str) -> str:
    """`s` without `prefix`."""
    return s[len(prefix) :] if s.startswith(prefix) else s


class CassandraTypeType(type):
    """The class of type classes: registers them under their names, and notices changes that plans
    depend on.
    """

    cassname: str
    typename: str

    def __new__(mcs, name: str, bases: tuple[type, ...], dct: dict[str, Any]) -> CassandraTypeType:
        """Make and register the class `name`; names with a leading underscore and parameterized
        ones are not registered.
        """
        dct.setdefault("cassname", name)
        made = super().__new__(mcs, name, bases, dct)
        if not name.startswith("_") and name.isidentifier() and dct.get("_registered", True):
            _by_cassname[name] = made
            if "typename" in dct and not made.typename.startswith(apache_cassandra_type_prefix):
                _by_cqlname.setdefault(made.typename, made)
        return made

    def __setattr__(cls, name: str, value: Any) -> None:
        if name in _PLAN_ATTRIBUTES:
            _Plans.current += 1
        super().__setattr__(name, value)

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"


class _CassandraType(metaclass=CassandraTypeType):
    """The base of all types. A subclass of a user's overrides `serialize` and `deserialize`."""

    subtypes: ClassVar[tuple[Any, ...]] = ()
    fieldnames: ClassVar[Any] = None
    num_subtypes: ClassVar[Any] = 0
    typename: ClassVar[str] = ""
    cassname: ClassVar[str] = ""

    # Zero bytes are a value of the type (text, blob), not a legacy empty.
    empty_binary_ok: ClassVar[bool] = False

    # Whether a legacy empty value is read as EMPTY rather than None. Off, since most programs
    # expect None.
    support_empty_values: ClassVar[bool] = False

    _factory: ClassVar[str] = "blob"
    _registered: ClassVar[bool] = True

    def __init__(self, val: Any) -> None:
        self.val = self.validate(val)

    def __repr__(self) -> str:
        return f"<{self.cql_parameterized_type()}( {self.val!r} )>"

    @staticmethod
    def validate(val: Any) -> Any:
        """`val`; types of a user's may check it."""
        return val

    # -- the coding of values ----------------------------------------------------------------------

    @classmethod
    def from_binary(cls, byts: bytes | None, protocol_version: int) -> Any:
        """The value of a [bytes] (None for null), with the rules for empty values; raises
        DecodeError.
        """
        if byts is None:
            return None
        if len(byts) == 0 and not cls.empty_binary_ok:
            return EMPTY if cls.support_empty_values else None
        return cls.deserialize(byts, protocol_version)

    @classmethod
    def to_binary(cls, val: Any, protocol_version: int) -> bytes:
        """The bytes of `val`; no bytes for None. Raises TypeError or ValueError."""
        return b"" if val is None else cls.serialize(val, protocol_version)

    @classmethod
    def deserialize(cls, byts: bytes, protocol_version: int) -> Any:
        """The value of a body that is neither null nor empty; raises DecodeError."""
        begin_page()
        return cls._native_codec(protocol_version, "list").decode(byts)

    @classmethod
    def serialize(cls, val: Any, protocol_version: int) -> bytes:
        """The body of `val`, which is not None; raises TypeError or ValueError."""
        encoded: bytes = cls._native_codec(protocol_version, "list").encode(val)
        return encoded

    @classmethod
    def serial_size(cls) -> int | None:
        """The bytes of each value where a vector packs them without a length, else None."""
        size: int = (
            cls.codec().fixed_size
            if not cls._overridden()
            else cls._native_codec(5, "list").fixed_size
        )
        return size if size >= 0 else None

    # -- plans -------------------------------------------------------------------------------------

    @classmethod
    def codec(cls, protocol_version: int = DEFAULT_PROTOCOL_VERSION, vectors: str = "list") -> Any:
        """The codec of this type, of the implementation in use; made once.

        `protocol_version` is what user-made types are called with; `vectors` is how vectors of
        numbers are read: "list", "array" (array.array) or "numpy".
        """
        plans = cls._plans("_codecs")
        key = (protocol_version, vectors)
        plan = plans.by_key.get(key)
        if plan is None:
            plan = plans.by_key[key] = cls.build_codec(
                implementations.codecs, protocol_version, vectors
            )
        return plan

    @classmethod
    def build_codec(
        cls,
        codecs: ModuleType,
        protocol_version: int = DEFAULT_PROTOCOL_VERSION,
        vectors: str = "list",
    ) -> Any:
        """A codec of this type made from the factories of `codecs`, one of the twin modules."""
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
        plans = cls._plans("_native_codecs")
        key = (protocol_version, vectors)
        plan = plans.by_key.get(key)
        if plan is None:
            plan = plans.by_key[key] = cls._build(implementations.codecs, protocol_version, vectors)
        return plan

    @classmethod
    def _plans(cls, attribute: str) -> _Plans:
        plans: _Plans | None = cls.__dict__.get(attribute)
        if plans is None or plans.generation != _Plans.current:
            plans = _Plans()
            setattr(cls, attribute, plans)
        return plans

    @classmethod
    def _overridden(cls) -> bool:
        """Whether a user's class has taken the coding over."""
        return (
            _function(cls.serialize) is not _SERIALIZE
            or _function(cls.deserialize) is not _DESERIALIZE
            or _function(cls.to_binary) is not _TO_BINARY
            or _function(cls.from_binary) is not _FROM_BINARY
            or (cls.empty_binary_ok and cls._factory not in _EMPTY_IS_VALUE)
        )

    @classmethod
    def _empty(cls) -> EmptyValue | None:
        return EMPTY if cls.support_empty_values else None

    @classmethod
    def _build(cls, codecs: ModuleType, protocol_version: int, vectors: str) -> Any:
        """The codec of our own coding of this type."""
        return getattr(codecs, cls._factory)(cls.typename or cls.cassname, empty=cls._empty())

    # -- names and parameters ----------------------------------------------------------------------

    @classmethod
    def cass_parameterized_type_with(cls, subtypes: Sequence[Any], full: bool = False) -> str:
        """The server's class name with `subtypes` as parameters; `full` puts the package in front
        of each.
        """
        cname = cls.cassname
        if full and "." not in cname:
            cname = apache_cassandra_type_prefix + cname
        if not subtypes:
            return cname
        return f"{cname}({', '.join(subtype.cass_parameterized_type(full=full) for subtype in subtypes)})"

    @classmethod
    def apply_parameters(cls, subtypes: Sequence[Any], names: Sequence[Any] | None = None) -> Any:
        """The subclass of this type with `subtypes` as parameters; the same class for the same
        parameters.

        Raises ValueError where their number is wrong.
        """
        subtypes = tuple(subtypes)
        if cls.num_subtypes != "UNKNOWN" and len(subtypes) != cls.num_subtypes:
            raise ValueError(
                f"{cls.typename or cls.cassname} takes {cls.num_subtypes} parameters, got {len(subtypes)}"
            )
        if not subtypes:
            return cls
        fieldnames = None if names is None else tuple(names)
        return parameterized(cls, subtypes, fieldnames)

    @classmethod
    def cql_parameterized_type(cls) -> str:
        """The type in CQL: ``map<text, int>``."""
        name = cls.typename or f"'{cls.cass_parameterized_type(full=True)}'"
        if not cls.subtypes or not cls.typename:
            return name
        return f"{name}<{', '.join(subtype.cql_parameterized_type() for subtype in cls.subtypes)}>"

    @classmethod
    def cass_parameterized_type(cls, full: bool = False) -> str:
        """The type as the server's class name: ``MapType(UTF8Type, Int32Type)``."""
        return cls.cass_parameterized_type_with(cls.subtypes, full=full)


def _function(method: Any) -> Any:
    return getattr(method, "__func__", method)


_SERIALIZE = _function(_CassandraType.serialize)
_DESERIALIZE = _function(_CassandraType.deserialize)
_TO_BINARY = _function(_CassandraType.to_binary)
_FROM_BINARY = _function(_CassandraType.from_binary)
_EMPTY_IS_VALUE = frozenset({"text", "ascii_text", "blob", "nothing"})

# Classes with parameters, so that equal types are one class with one plan. A schema has few; a
# limit keeps hostile or generated ones from piling up.
_CLASS_BYTES = 2000
_parameterized: Bounded[Any, Any] = Bounded(10_000, 1 << 25)


def parameterized(
    cls: Any, subtypes: tuple[Any, ...], fieldnames: tuple[Any, ...] | None, **attributes: Any
) -> Any:
    """The subclass of `cls` with `subtypes` and further class `attributes`, from the cache where it
    was made before.
    """
    key = (cls, subtypes, fieldnames, *attributes.values())
    made = _parameterized.get(key)
    if made is None:
        name = attributes.pop("_title", None) or cls.cass_parameterized_type_with(subtypes)
        made = type(cls)(
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
        made = _parameterized.keep(
            key, made, _CLASS_BYTES + 3 * len(name) + 3 * text_size(fieldnames) + 8 * len(subtypes)
        )
    return made


def sub_codec(cls: Any, codecs: ModuleType, protocol_version: int, vectors: str) -> Any:
    """The codec of a type inside another: the shared one where `codecs` is the implementation in
    use.
    """
    if codecs is implementations.codecs:
        return cls.codec(protocol_version, vectors)
    return cls.build_codec(codecs, protocol_version, vectors)


def public(*classes: Any) -> None:
    """Give classes and functions their public path."""
    for one in classes:
        one.__module__ = "cassandra.cqltypes"


CassandraType = _CassandraType
Builder = Callable[[ModuleType, int, str], Any]

public(CassandraTypeType, _CassandraType)
