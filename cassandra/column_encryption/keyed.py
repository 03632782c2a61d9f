"""`KeyedPolicy`: the base class of encryption policies that have a key for each column."""

from __future__ import annotations

import weakref
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

from cassandra._forks import renewed
from cassandra._imports import import_module
from cassandra._secrets import SecretKey
from cassandra._threads import Lock
from cassandra.cqltypes.base import CassandraTypeType, _CassandraType
from cassandra.cqltypes.failures import EncodeTypeError, EncodeValueError
from cassandra.cqltypes.parse import lookup_parameterized_cqltype
from cassandra.errors import DecodeError, DependencyException
from cassandra.policies.encryption import ColumnEncryptionPolicy
from cassandra.protocol.encrypted import ColDesc, codec_of_secrets, place_of

if TYPE_CHECKING:
    from cassandra.query.prepared import PreparedStatement

__all__ = ["ColData", "KeyedPolicy", "SecretKey", "UnknownColumn", "require_cryptography"]

AES256_KEY_SIZE = 256  # bits
AES256_KEY_SIZE_BYTES = AES256_KEY_SIZE // 8


class UnknownColumn(KeyError, ValueError):
    """The column was not added to the policy.

    cassandra-driver raises a KeyError in `column_type`, and a ValueError in `encrypt` and
    `decrypt`. This class is both, so that existing code can catch it everywhere.
    """

    def __str__(self) -> str:
        return str(self.args[0])  # str() of a KeyError would show the message in quotes


class ColData(NamedTuple):
    """The key and the type of an encrypted column.

    :param key: the key or keys to encrypt with, in a form that the policy chooses.
    :param type: the `cassandra.cqltypes` class of the column's values.
    """

    key: Any
    type: Any


class KeyedPolicy(ColumnEncryptionPolicy):
    """Base class of the policies that have a key for each column.

    A policy knows which columns are encrypted, and notifies prepared statements of changes.
    """

    def __init__(self) -> None:
        require_cryptography()
        self._columns: dict[ColDesc, ColData] = {}
        # The prepared statements to notify when columns are added; `follow` adds statements.
        self._followers: weakref.WeakSet[PreparedStatement] = weakref.WeakSet()
        self._lock = Lock()
        renewed(self)  # have `_renew_locks` called in forked children

    def _renew_locks(self) -> None:
        # Replace the lock in a forked child. The thread that held the lock does not exist in the
        # child, so preparing a statement or adding a column would wait forever.
        self._lock = Lock()

    def __repr__(self) -> str:
        columns = ", ".join(sorted(map(place_of, self._columns)))
        return f"<{type(self).__name__} of {columns or 'no columns'}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} has secret keys, so it cannot be pickled or copied: "
            "make one in each process"
        )

    def contains_column(self, coldesc: ColDesc) -> bool:
        """Return True if the column was added."""
        return coldesc in self._columns

    def column_type(self, coldesc: ColDesc) -> type[_CassandraType]:
        """Return the `cassandra.cqltypes` class of the column's values.

        :raises KeyError: if the column was not added.
        """
        cql_type: type[_CassandraType] = self._data_of(coldesc).type
        return cql_type

    def encode_and_encrypt(self, coldesc: ColDesc, obj: Any) -> bytes:
        """Encrypt a value for a statement that is not prepared, and return the bytes.

        :param obj: the value. It must not be None, because a null is not encrypted.
        :raises ValueError: if the value is None or out of the type's range, or if the column was
            not added.
        :raises TypeError: if the value does not fit the column's type. The message does not show
            the value.
        """
        if obj is None:
            raise ValueError("Object supplied to encode_and_encrypt cannot be None")
        cql_type = self.column_type(coldesc)
        try:
            data = codec_of_secrets(cql_type.codec(), cql_type).encode(obj)
        except (EncodeTypeError, EncodeValueError) as error:
            type_name = cql_type.cql_parameterized_type()
            raise type(error)(
                f"{place_of(coldesc)} is encrypted and takes {type_name}: this "
                f"{type(obj).__name__} does not fit (values of encrypted columns are not shown)"
            ) from None
        return self.encrypt(coldesc, data)

    def follow(self, prepared: PreparedStatement) -> bool:
        """Have `prepared` notified of new columns; see `ColumnEncryptionPolicy.follow`."""
        # A subclass that overrides `contains_column` or `column_type` may encrypt further columns
        # at any time, without notifying the prepared statements. So return False for it.
        cls = type(self)
        if (
            cls.contains_column is not KeyedPolicy.contains_column
            or cls.column_type is not KeyedPolicy.column_type
        ):
            return False
        with self._lock:
            self._followers.add(prepared)
        return True

    def _data_of(self, column: ColDesc) -> ColData:
        """Return the key and the type of a column; raise UnknownColumn if it was not added."""
        data = self._columns.get(column)
        if data is not None:
            return data
        known_columns = sorted(
            other[2] for other in self._columns if other[:2] == tuple(column[:2])
        )
        hint = (
            f"of table {place_of(column[:2])} it knows {', '.join(known_columns)}"
            if known_columns
            else f"it knows no column of table {place_of(column[:2])}"
        )
        raise UnknownColumn(
            f"Could not find column {place_of(column)} in {type(self).__name__}: {hint}"
        )

    def _set_column(self, column: ColDesc, key: object, type_argument: object) -> None:
        """Encrypt `column` from now on, also in statements that are already prepared.

        :param type_argument: the CQL name of the type, or a class of `cassandra.cqltypes`.
        """
        data = ColData(key, _type_named(type_argument, column))
        with self._lock:
            # Replace the dict instead of changing it: other threads may be reading the old dict.
            self._columns = {**self._columns, ColDesc(*column): data}
            followers = list(self._followers)
        # The stack calls all callbacks, even if one of them raises: without a new plan, a statement
        # would go on to send values of the column unencrypted.
        with ExitStack() as renewals:
            for prepared in followers:
                renewals.callback(prepared.renew_encryption)

    def _make_decode_error(self, column: ColDesc, why: str) -> DecodeError:
        return DecodeError(f"{place_of(column)} cannot be decrypted: {why}")


def check_key(key: SecretKey | None, column: ColDesc) -> None:
    """Raise TypeError or ValueError unless `key` has 256 bits.

    The message does not show the key.
    """
    if column is None:
        raise ValueError("coldesc must be a ColDesc, not None")
    if key is None:
        raise ValueError(f"{place_of(column)}: Key supplied to add_column cannot be None")
    if key.size < 0:  # the key was not created from bytes
        raise TypeError(f"{place_of(column)}: a key is {AES256_KEY_SIZE_BYTES} bytes, not a text")
    if key.size != AES256_KEY_SIZE_BYTES:
        raise ValueError(
            f"{place_of(column)}: AES256 column encryption policy expects a 256-bit encryption "
            f"key, not one of {key.size * 8} bits"
        )


def require_cryptography() -> None:
    """Raise `DependencyException` if the package ``cryptography`` is not installed."""
    try:
        import_module("cryptography")
    except ImportError as error:
        raise DependencyException(
            "column encryption needs cryptography: pip install turbocql[encryption]", [error]
        ) from None


# -- types by their names --------------------------------------------------------------------------


def _type_named(argument: object, column: ColDesc) -> type[_CassandraType]:
    """Return the `cassandra.cqltypes` class for the name of a CQL type.

    :param argument: the name, or a class of `cassandra.cqltypes`, which is returned.
    :param column: the column, for the error.
    :raises ValueError: if there is no such type.
    """
    if argument is None:
        raise ValueError(f"{place_of(column)}: Type supplied to add_column cannot be None")
    if isinstance(argument, CassandraTypeType):
        return cast("type[_CassandraType]", argument)
    try:
        if not isinstance(argument, str):
            raise ValueError("it is not a text")
        cql_type = lookup_parameterized_cqltype(argument)
        cql_type.codec()  # a list without an element type has no codec
    except (KeyError, ValueError, TypeError) as error:
        raise ValueError(
            f"{place_of(column)}: Type {argument!r} is not a supported type: {error} "
            "(user-defined types are passed as their class)"
        ) from None
    return cql_type
