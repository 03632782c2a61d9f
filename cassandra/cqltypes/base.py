"""The base class of all CQL types, their registry by name, and their codecs.

Each CQL type is a Python class, which is never instantiated. The class describes the type
(`typename`, `cassname`, `subtypes`). Its method `_build` makes a codec with the functions of a
codec module. The method `codec()` returns the class's codec, which is made once and cached:

- If the class does not override the serialization methods, `codec()` returns the codec that
  `_build` makes.
- If an application's class overrides serialize, deserialize, to_binary or from_binary, the codec
  calls these methods, for values inside a collection as well.

The serialization methods of `_CassandraType` always use the codec that `_build` makes. So an
application's class may call ``super().serialize(...)``.

If you set a class attribute that codecs depend on (`support_empty_values`, `mapped_class`, ...),
all cached codecs become invalid, and are made again when they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar, cast

import cassandra._impl as implementations
from cassandra._bounded import Bounded, text_size
from cassandra.cqltypes import calls
from cassandra.cqltypes.codecs.base import Codec, begin_page
from cassandra.sentinels import EMPTY, EmptyValue

if TYPE_CHECKING:
    from cassandra.cqltypes.server_order import CollectionOrder, SortKey

    class CodecModule(Protocol):
        """The functions of a codec module that type classes call.

        The modules are `cassandra.cqltypes.codecs` and its compiled version.
        """

        def from_class(
            self, cls: Any, protocol_version: int, /, *, name: str, fixed_size: int
        ) -> Codec: ...

        def from_functions(
            self,
            name: str,
            encode: Callable[[Any], bytes],
            decode: Callable[[bytes], Any],
            /,
            *,
            fixed_size: int = -1,
            empty_is_value: bool = False,
            empty: object = None,
        ) -> Codec: ...

        def blob(self, name: str, /) -> Codec: ...

        def list_of(self, element: Codec, /) -> Codec: ...

        def map_of(self, key: Codec, value: Codec, /, *, empty: object) -> Codec: ...

        def tuple_of(self, fields: Sequence[Codec], /, *, empty: object) -> Codec: ...

        def udt(
            self,
            name: str,
            names: Sequence[str],
            fields: Sequence[Codec],
            make: Callable[[list[Any]], Any],
            /,
            *,
            empty: object,
        ) -> Codec: ...

        def ordered(self, codec: Codec, order: CollectionOrder, /) -> Codec: ...

        def vector_of(
            self, element: Codec, dimension: int, /, *, as_: str, empty: object
        ) -> Codec: ...
else:
    # At run time, `CodecModule` must still be a class, because `typing.get_type_hints` looks it up.
    from types import ModuleType as CodecModule


_TypeT = TypeVar("_TypeT", bound="_CassandraType")

apache_cassandra_type_prefix = "org.apache.cassandra.db.marshal."
DEFAULT_PROTOCOL_VERSION = 5

# The registered type classes, by class name without Java package, and by CQL name.
_by_cassname: dict[str, type[_CassandraType]] = {}
_by_cqlname: dict[str, type[_CassandraType]] = {}

# The class attributes that a codec depends on. If one changes, all cached codecs become invalid.
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


class _CodecCache:
    """The cached codecs of one class.

    The codecs are valid while `generation` equals `_CodecCache.current`.
    """

    __slots__ = ("by_key", "generation")

    # A counter for all classes. Each change that a codec may depend on increments it. All classes
    # share the counter, because the codec of a container holds the codecs of other types.
    current = 0
    # A counter that is incremented when a class is registered by name.
    registered = 0

    def __init__(self) -> None:
        self.generation = _CodecCache.current
        self.by_key: dict[tuple[int, str], Codec] = {}


def trim_if_startswith(s: str, prefix: str) -> str:
    """Return `s` without `prefix`, or `s` itself if it does not begin with `prefix`.

    :param s: the string.
    :param prefix: the prefix to remove.
    """
    return s[len(prefix) :] if s.startswith(prefix) else s


class CassandraTypeType(type):
    """The metaclass of type classes.

    The metaclass registers the classes by name, and detects changes of their attributes.
    """

    cassname: str
    typename: str

    def __new__(mcs, name: str, bases: tuple[type, ...], dct: dict[str, Any]) -> CassandraTypeType:
        """Create the class `name`, and register it under its names.

        Classes with parameters, and classes whose names begin with "_", are not registered.
        """
        dct.setdefault("cassname", name)
        cls = super().__new__(mcs, name, bases, dct)
        # Do not register classes with `_registered = False`: for example, a user-defined type may
        # have the same name as one of our classes, and would replace our class.
        if not name.startswith("_") and name.isidentifier() and dct.get("_registered", True):
            cql_type = cast("type[_CassandraType]", cls)
            _by_cassname[name] = cql_type
            _CodecCache.registered += 1
            if "typename" in dct and not cls.typename.startswith(apache_cassandra_type_prefix):
                # Several classes have the CQL name timestamp; the first class keeps it.
                _by_cqlname.setdefault(cls.typename, cql_type)
        calls.protect(cls)
        return cls

    def __setattr__(cls, name: str, value: object) -> None:
        if name in _PLAN_ATTRIBUTES:
            # The attribute changes how values are encoded. Make the cached codecs of all classes
            # invalid, because the codecs of other classes may contain this class's codec.
            _CodecCache.current += 1
            calls.withdraw()
            # If an application assigns the original method again, after it had replaced the method,
            # remove the attribute from the class. Then the class inherits the original method.
            if name in calls.NAMES and calls.is_stock(cls, value):
                inherited = getattr(super(cls, cls), name, None)
                if name in cls.__dict__ and calls.is_stock(cls, inherited):
                    super().__delattr__(name)
                    return
        super().__setattr__(name, value)

    def __delattr__(cls, name: str) -> None:
        if name in _PLAN_ATTRIBUTES:
            _CodecCache.current += 1
            was_there = name in cls.__dict__
            # If the attribute is one of our fast methods, `withdraw` deletes it.
            calls.withdraw()
            if was_there and name not in cls.__dict__:
                return
        super().__delattr__(name)

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"


class _CassandraType(metaclass=CassandraTypeType):
    """Base of all type classes. An application's own type overrides `serialize` and `deserialize`.

    :param val: a value. The attribute `val` becomes the result of ``validate(val)``.
    """

    subtypes: ClassVar[tuple[Any, ...]] = ()
    fieldnames: ClassVar[Any] = None
    num_subtypes: ClassVar[Any] = 0
    typename: ClassVar[str] = ""
    cassname: ClassVar[str] = ""

    # True if zero bytes are an ordinary value of the type, as for text and blob. For other types,
    # zero bytes are a "legacy empty value": it is neither null nor an ordinary value.
    empty_binary_ok: ClassVar[bool] = False

    # How a legacy empty value is decoded: True means as EMPTY, False as None, which most
    # applications expect.
    support_empty_values: ClassVar[bool] = False

    # The name of the function of the module `codecs` that makes the type's codec.
    _factory: ClassVar[str] = "blob"
    # False in the namespace of a class that must not be found by its name, such as a subclass with
    # parameters.
    _registered: ClassVar[bool] = True

    # `scalars.py` sets the following attributes for scalar types. Other packages of the driver read
    # them.
    #
    # The type's option id, which is its number in result metadata. None if servers describe the
    # type by its class name.
    _option: ClassVar[int | None] = None
    # The layout of a column of this type in columnar results: its kind, its Arrow format, and the
    # width of a value in bytes, or 0 (see `cassandra.protocol.columnar.layouts`).
    _column: ClassVar[tuple[str, str, int]] = ("blob", "z", 0)
    # The Python classes of decoded values, for the annotations of row classes; None if these
    # classes are not known.
    _values: ClassVar[tuple[type[Any], ...] | None] = None
    # Sorts the bytes of values like servers do; None if we do not know the order (see
    # `cassandra.cqltypes.server_order`).
    _sorted_by: ClassVar[Any] = None
    # The CQL type whose representation in CSV and JSON files this type shares; "" if this type has
    # its own representation.
    _text_form: ClassVar[str] = ""

    def __init__(self, val: object) -> None:
        self.val = self.validate(val)

    def __repr__(self) -> str:
        return f"<{self.cql_parameterized_type()}( {self.val!r} )>"

    @staticmethod
    def validate(val: Any) -> Any:
        """Return `val`. An application's type may override this method to convert the value.

        :param val: the value.
        """
        return val

    # -- the coding of values ----------------------------------------------------------------------

    @classmethod
    def from_binary(cls, byts: bytes | None, protocol_version: int) -> Any:
        """Decode a [bytes], which may be null or empty.

        :param byts: the bytes, or None for null.
        :param protocol_version: the protocol version that the bytes were encoded for.
        :raises DecodeError: if the bytes are not valid for the type.
        """
        cls._install_fast_methods()
        if byts is None:
            return None
        if len(byts) == 0 and not cls.empty_binary_ok:
            return EMPTY if cls.support_empty_values else None
        return cls.deserialize(byts, protocol_version)

    @classmethod
    def to_binary(cls, val: Any, protocol_version: int) -> bytes:
        """Encode `val`; returns b"" for None.

        :param val: the value, or None.
        :param protocol_version: the protocol version to encode the value for.
        :raises TypeError: if the type does not accept the class of `val`.
        :raises ValueError: if `val` is out of range or badly formed.
        """
        cls._install_fast_methods()
        return b"" if val is None else cls.serialize(val, protocol_version)

    @classmethod
    def deserialize(cls, byts: bytes, protocol_version: int) -> Any:
        """Decode bytes that are neither null nor empty.

        :param byts: the bytes.
        :param protocol_version: the protocol version that the bytes were encoded for.
        :raises DecodeError: if the bytes are not valid for the type.
        """
        cls._install_fast_methods()
        # A value that is decoded outside a page of rows counts as a page of its own for the limit
        # `limits.null_cells`.
        begin_page()
        return cls._native_codec(protocol_version, "list").decode(byts)

    @classmethod
    def serialize(cls, val: Any, protocol_version: int) -> bytes:
        """Encode `val`, which must not be None. Raises the same errors as `to_binary`.

        :param val: the value.
        :param protocol_version: the protocol version to encode the value for.
        """
        cls._install_fast_methods()
        return cls._native_codec(protocol_version, "list").encode(val)

    @classmethod
    def _install_fast_methods(cls) -> None:
        """Install faster methods for later calls, unless the class overrides one of the methods.

        See `cassandra.cqltypes.calls`.
        """
        # Install the methods at the first call, and again after a codec has changed. A class of an
        # application that overrides a method gets no fast methods, so there this check runs for
        # each value.
        if cls.__dict__.get("_methods_generation") != _CodecCache.current:
            # Read the number before the installation. If a codec changes during the installation,
            # the next call then installs the methods again.
            current_generation = _CodecCache.current
            calls.install(cls, _generation)
            # Bypass `__setattr__` of the metaclass, which is meant for attributes that an
            # application sets.
            type.__setattr__(cls, "_methods_generation", current_generation)

    @classmethod
    def serial_size(cls) -> int | None:
        """Return the size in bytes of each value in a vector; None if the size varies."""
        # If an application overrides the methods, use the size of the driver's own codec, because
        # the codec that calls the application's methods does not know it.
        size: int = (
            cls.codec().fixed_size
            if not cls._overridden()
            else cls._native_codec(5, "list").fixed_size
        )
        return size if size >= 0 else None

    # -- codecs ------------------------------------------------------------------------------------

    @classmethod
    def codec(
        cls, protocol_version: int = DEFAULT_PROTOCOL_VERSION, vectors: str = "list"
    ) -> Codec:
        """Return the cached codec of this type, from the codec module that the driver uses.

        :param protocol_version: the version that an application's serialization methods get.
        :param vectors: how vectors of numbers are decoded: "list", "array" (array.array) or
            "numpy".
        """
        cache = cls._valid_cache("_codecs")
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
        codecs: CodecModule,
        protocol_version: int = DEFAULT_PROTOCOL_VERSION,
        vectors: str = "list",
    ) -> Codec:
        """Make a codec of this type with the functions of `codecs`.

        :param codecs: `cassandra.cqltypes.codecs` or its compiled version.
        :param protocol_version: the version that values are encoded for.
        :param vectors: how vectors of numbers are decoded: "list", "array" or "numpy".
        """
        if cls._overridden():
            # This is an application's type that overrides the methods, so its codec calls these
            # methods.
            return codecs.from_class(
                cls,
                protocol_version,
                name=cls.cql_parameterized_type(),
                fixed_size=cls._build(codecs, protocol_version, vectors).fixed_size,
            )
        return cls._build(codecs, protocol_version, vectors)

    @classmethod
    def _native_codec(cls, protocol_version: int, vectors: str) -> Codec:
        """Return the codec that `_build` makes, even if the class overrides the methods."""
        cache = cls._valid_cache("_native_codecs")
        key = (protocol_version, vectors)
        codec = cache.by_key.get(key)
        if codec is None:
            codec = cache.by_key[key] = cls._build(
                implementations.codecs, protocol_version, vectors
            )
        return codec

    @classmethod
    def _valid_cache(cls, attribute: str) -> _CodecCache:
        """Return the valid cache in the class attribute `attribute`.

        Create a cache if necessary.
        """
        # Read the class's own dict: getattr() would also find the cache of a parent class.
        cache: _CodecCache | None = cls.__dict__.get(attribute)
        if cache is None or cache.generation != _CodecCache.current:
            cache = _CodecCache()
            setattr(cls, attribute, cache)
        return cache

    @classmethod
    def _overridden(cls) -> bool:
        """Return True if the class overrides how values are encoded or decoded.

        A class does so if it overrides serialize, deserialize, to_binary or from_binary. It also
        does so if it sets `empty_binary_ok` although zero bytes are not an ordinary value for the
        driver's codec.
        """
        return not (
            calls.is_stock(cls, cls.serialize)
            and calls.is_stock(cls, cls.deserialize)
            and calls.is_stock(cls, cls.to_binary)
            and calls.is_stock(cls, cls.from_binary)
        ) or (cls.empty_binary_ok and cls._factory not in EMPTY_IS_VALUE)

    @classmethod
    def _sort_key(cls) -> SortKey | None:
        """Return a function that makes the sort key of a value of this type from the value's bytes.

        The key sorts values as servers do. Return None if we do not know how servers sort them.
        Call `sort_key_of` instead, which also asks whether the class has its own encoding.
        """
        key: SortKey | None = cls._sorted_by
        return key

    @classmethod
    def _server_order(cls) -> CollectionOrder | None:
        """Return a function that puts the elements of a set or map into the order of servers.

        Return None for all other types: their codecs already order the sets and maps in their
        values, see `codec_in_order`. Call `server_order_of` instead, which also asks whether the
        class has its own encoding.
        """
        return None

    @classmethod
    def _empty(cls) -> EmptyValue | None:
        return EMPTY if cls.support_empty_values else None

    @classmethod
    def _build(cls, codecs: CodecModule, protocol_version: int, vectors: str) -> Codec:
        """Make the type's codec with the functions of `codecs`.

        The codec calls no overridden methods.
        """
        codec: Codec = getattr(codecs, cls._factory)(
            cls.typename or cls.cassname, empty=cls._empty()
        )
        return codec

    # -- names and parameters ----------------------------------------------------------------------

    @classmethod
    def cass_parameterized_type_with(cls, subtypes: Sequence[Any], full: bool = False) -> str:
        """Return the name of the server's class, with `subtypes` as parameters.

        :param subtypes: the types of the elements or fields.
        :param full: True writes each class name with its Java package.
        """
        cname = cls.cassname
        if full and "." not in cname:
            cname = apache_cassandra_type_prefix + cname
        if not subtypes:
            return cname
        parameters = ", ".join(subtype.cass_parameterized_type(full=full) for subtype in subtypes)
        return f"{cname}({parameters})"

    @classmethod
    def apply_parameters(
        cls, subtypes: Sequence[Any], names: Sequence[Any] | None = None
    ) -> type[_CassandraType]:
        """Return the subclass of this type with `subtypes` as parameters.

        Calls with equal parameters return the same class.

        :param subtypes: the types of the elements or fields, classes of `cassandra.cqltypes`.
        :param names: the names of the fields; None if the type has no named fields.
        :raises ValueError: if the number of subtypes is wrong.
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
        """Return the type's name in CQL, for example ``map<text, int>``."""
        name = cls.typename or f"'{cls.cass_parameterized_type(full=True)}'"
        if not cls.subtypes or not cls.typename:
            return name
        return f"{name}<{', '.join(subtype.cql_parameterized_type() for subtype in cls.subtypes)}>"

    @classmethod
    def cass_parameterized_type(cls, full: bool = False) -> str:
        """Return the name of the server's class, for example ``MapType(UTF8Type, Int32Type)``.

        :param full: True writes each class name with its Java package.
        """
        return cls.cass_parameterized_type_with(cls.subtypes, full=full)


def _generation() -> int:
    return _CodecCache.current


def rules_of_types() -> int:
    """Return a number that changes when a class is registered or a codec may have changed.

    Caches of objects that were made from types store this number. If it has changed, the cached
    objects are out of date.
    """
    return _CodecCache.current + _CodecCache.registered


calls.stock_methods.update({name: _CassandraType.__dict__[name] for name in calls.NAMES})
# The codec factories of types for which zero bytes are an ordinary value. `scalars.py` fills this
# set.
EMPTY_IS_VALUE: set[str] = set()

_CLASS_BYTES = 2000  # estimated memory of a class with parameters, for the cache's limit
# A cache of the classes with parameters, so that equal types are the same class with the same
# codec. A schema has few of these classes; the limit is for hostile servers and generated schemas.
_parameterized: Bounded[Any, Any] = Bounded(10_000, 1 << 25)


def parameterized(
    cls: type[_TypeT],
    subtypes: tuple[Any, ...],
    fieldnames: tuple[Any, ...] | None,
    **attributes: Any,
) -> type[_TypeT]:
    """Return the subclass of `cls` with `subtypes` and further class `attributes`.

    Subclasses are cached.
    """
    key = (cls, subtypes, fieldnames, *attributes.values())
    subclass: type[_TypeT] | None = _parameterized.get(key)
    if subclass is None:
        # `_title` does not become a class attribute. It is the class's name, if the name cannot be
        # derived from the subtypes.
        name = attributes.pop("_title", None) or cls.cass_parameterized_type_with(subtypes)
        metaclass: type[Any] = type(cls)
        new_class: type[_TypeT] = metaclass(
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
        # The lengths of names count three times, because about three copies of each name are kept.
        subclass = _parameterized.keep(
            key,
            new_class,
            _CLASS_BYTES + 3 * len(name) + 3 * text_size(fieldnames) + 8 * len(subtypes),
        )
    return subclass


def sub_codec(
    cls: type[_CassandraType], codecs: CodecModule, protocol_version: int, vectors: str
) -> Codec:
    """Return the codec of a type that is inside another type.

    The codec is cached if `codecs` is the codec module that the driver uses. Otherwise, this makes
    a new codec.
    """
    if codecs is implementations.codecs:
        return cls.codec(protocol_version, vectors)
    return cls.build_codec(codecs, protocol_version, vectors)


def sort_key_of(cls: type[_CassandraType]) -> SortKey | None:
    """Return a function by which the bytes of elements of a type are sorted; None if unknown.

    It is unknown for an application's class with its own encoding, whose parent it would suit.
    """
    return None if cls._overridden() else cls._sort_key()


def server_order_of(cls: type[_CassandraType]) -> CollectionOrder | None:
    """Return a function that brings a set or map into the order of servers.

    None for other types, and for an application's class with its own encoding.
    """
    return None if cls._overridden() else cls._server_order()


def codec_in_order(codec: Codec, cls: Any, codecs: CodecModule | None = None) -> Codec:
    """Return a codec that encodes a set or map in the order of servers.

    The driver uses such codecs for partition keys, and for the fields and elements of other types:
    see `cassandra.cqltypes.server_order`.

    :param codec: the codec of `cls`. It is returned unchanged if the type is no set or map.
    :param cls: a class of `cassandra.cqltypes`; or another object with a codec, whose values are
        no sets or maps.
    :param codecs: the module of the codec; None for the module that the driver uses.
    """
    is_type = isinstance(cls, type) and issubclass(cls, _CassandraType)
    order = server_order_of(cls) if is_type else None
    if order is None:
        return codec
    return (codecs or implementations.codecs).ordered(codec, order)


def codec_like(
    plain_codec: Codec,
    codecs: CodecModule,
    encode: Callable[[Any], bytes],
    decode: Callable[[bytes], Any],
) -> Codec:
    """Return a codec that calls `encode` and `decode`, with the properties of `plain_codec`.

    :param codecs: the module of `plain_codec`.
    """
    return codecs.from_functions(
        plain_codec.cql_name,
        encode,
        decode,
        fixed_size=plain_codec.fixed_size,
        empty_is_value=plain_codec.empty_is_value,
        empty=plain_codec.legacy_empty,
    )


def inner_codec(
    cls: type[_CassandraType], codecs: CodecModule, protocol_version: int, vectors: str
) -> Codec:
    """Return the codec of a field or an element of another type, such as a tuple or list."""
    return codec_in_order(sub_codec(cls, codecs, protocol_version, vectors), cls, codecs)


def public(*classes: Any) -> None:
    """Set `__module__` of classes and functions to the module that users import them from."""
    for public_object in classes:
        public_object.__module__ = "cassandra.cqltypes"


CassandraType = _CassandraType
# A function that makes a codec from (module of codecs, protocol version, class of decoded vectors).
Builder: TypeAlias = "Callable[[CodecModule, int, str], Codec]"

public(CassandraTypeType, _CassandraType)
