"""Policies that encrypt columns on the client, with the package ``cryptography``.

`AES256ColumnEncryptionPolicy` reads and writes the same format as the policy of that name in
cassandra-driver and scylla-driver. `AESGCMColumnEncryptionPolicy` also detects changed values, and
supports changing keys.
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._imports import import_module
from cassandra._lazy import lazy_names
from cassandra._logs import Log
from cassandra.column_encryption.keyed import (
    AES256_KEY_SIZE,
    AES256_KEY_SIZE_BYTES,
    ColData,
    KeyedPolicy,
    SecretKey,
    check_key,
)
from cassandra.policies.encryption import ColumnEncryptionPolicy
from cassandra.protocol.encrypted import ColDesc, place_of

if TYPE_CHECKING:
    from cassandra.query.prepared import PreparedStatement

__all__ = [
    "AES256_BLOCK_SIZE", "AES256_BLOCK_SIZE_BYTES", "AES256_KEY_SIZE", "AES256_KEY_SIZE_BYTES",
    "AES256ColumnEncryptionPolicy", "AESGCMColumnEncryptionPolicy", "ColData",
    "ColumnEncryptionPolicy",
]  # fmt: skip

log = Log(__name__)

AES256_BLOCK_SIZE = 128  # bits
AES256_BLOCK_SIZE_BYTES = AES256_BLOCK_SIZE // 8


class AES256ColumnEncryptionPolicy(KeyedPolicy):
    """Encrypts with AES-256 in CBC mode: the format of cassandra-driver and scylla-driver.

    An encrypted value consists of the initialization vector (16 bytes), and the padded and
    encrypted bytes. A policy object uses the same vector for all values. Equal values of a column
    therefore have equal bytes on the server, so servers can find rows by an encrypted value. To
    find rows that another policy object has written, a policy object needs the same `iv`. To only
    decrypt such values, it may have another `iv`, because each value contains its vector.

    CBC does not detect each change of an encrypted value. `AESGCMColumnEncryptionPolicy` detects
    all changes.

    :param iv: the initialization vector, 16 bytes; None for random bytes.
    :raises ValueError: if `iv` has another size.
    :raises DependencyException: if ``cryptography`` is not installed.
    """

    def __init__(self, iv: bytes | None = None) -> None:
        super().__init__()
        if iv is not None and len(iv) != AES256_BLOCK_SIZE_BYTES:
            raise ValueError(
                "This policy uses AES-256 with CBC mode and therefore expects a 128-bit "
                f"initialization vector, not one of {len(iv) * 8} bits"
            )
        self._has_random_iv = iv is None
        # Copy the bytes, because the application may pass a bytearray and change it later.
        self.iv = bytes(iv) if iv is not None else os.urandom(AES256_BLOCK_SIZE_BYTES)
        # Each policy has its own cache, so that no key outlives its policy.
        self._cipher = functools.lru_cache(maxsize=128)(_cbc)

    def add_column(self, coldesc: ColDesc, key: bytes, type: Any) -> None:
        """Encrypt a column from now on, also in statements that are already prepared.

        :param coldesc: keyspace, table and name of the column, as the server stores them.
        :param key: 32 bytes.
        :param type: the CQL type of its values, such as "int" or "list<text>", or a class of
            `cassandra.cqltypes`. On the server the column is a blob.
        :raises ValueError: if the key has another size, or there is no such type.
        :raises TypeError: if the key is not bytes.
        """
        # Hide the key in both variables, because error reports may show the variables of functions.
        secret = key = None if key is None else SecretKey(key)  # type: ignore[assignment]
        check_key(secret, coldesc)
        self._set_column(coldesc, secret, type)

    def encrypt(self, coldesc: ColDesc, obj_bytes: bytes) -> bytes:
        """Return the initialization vector and the encrypted bytes.

        :raises ValueError: if the column was not added.
        """
        encryptor = self._cipher(self._data_of(coldesc).key, self.iv).encryptor()
        # Pad by PKCS #7. The padding has at least one byte, so a whole block is added if the size
        # is a multiple of the block size.
        padding = AES256_BLOCK_SIZE_BYTES - len(obj_bytes) % AES256_BLOCK_SIZE_BYTES
        padded = obj_bytes + bytes((padding,)) * padding
        encrypted: bytes = encryptor.update(padded) + encryptor.finalize()
        return self.iv + encrypted

    def decrypt(self, coldesc: ColDesc, encrypted_bytes: bytes) -> bytes:
        """Return the original bytes of an encrypted value.

        :raises ValueError: if the column was not added.
        :raises DecodeError: if the bytes were not encrypted with the column's key; DecodeError is a
            ValueError. A wrong key is not detected in 1 of 255 cases: the result is then a wrong
            value, or not valid for the type.
        """
        data = self._data_of(coldesc)
        size = len(encrypted_bytes) - AES256_BLOCK_SIZE_BYTES
        if size < AES256_BLOCK_SIZE_BYTES or size % AES256_BLOCK_SIZE_BYTES:
            raise self._make_decode_error(
                coldesc,
                f"{len(encrypted_bytes)} bytes are not an initialization vector and blocks of "
                f"{AES256_BLOCK_SIZE_BYTES}, so they are damaged or were not encrypted",
            )
        iv = bytes(encrypted_bytes[:AES256_BLOCK_SIZE_BYTES])
        decryptor = self._cipher(data.key, iv).decryptor()
        padded = decryptor.update(encrypted_bytes[AES256_BLOCK_SIZE_BYTES:]) + decryptor.finalize()
        padding_size = padded[-1]  # in PKCS #7, each byte of the padding is the padding's size
        padding = bytes((padding_size,)) * padding_size
        if not 1 <= padding_size <= AES256_BLOCK_SIZE_BYTES or not padded.endswith(padding):
            raise self._make_decode_error(
                coldesc, "the key is not the one that it was written with, or it is damaged"
            )
        return padded[:-padding_size]  # type: ignore[no-any-return]

    def follow(self, prepared: PreparedStatement) -> bool:
        """Have `prepared` notified of new columns; see `ColumnEncryptionPolicy.follow`.

        Warn if the `iv` is random, and `prepared` has an encrypted column in its partition key.
        """
        columns = prepared.column_metadata
        # If the `iv` is random, another policy object cannot find the rows by their keys.
        key_columns: set[ColDesc] = set()
        if self._has_random_iv:
            indexes = prepared.routing_key_indexes or ()
            key_columns = {ColDesc(*columns[index][:3]) for index in indexes}
        for column in sorted(key_columns & self._columns.keys()):
            log.warning(
                "%s is encrypted and a column of the partition key, but the policy was made "
                "without iv=: another program, or this one when it runs again, will not find "
                "the rows that it writes",
                place_of(column),
            )
        return super().follow(prepared)

    def cache_info(self) -> functools._CacheInfo:
        """Return the statistics of the cache of ciphers: hits, misses, maxsize and currsize."""
        return self._cipher.cache_info()


def _cbc(key: SecretKey, iv: bytes) -> Any:
    """Return the AES cipher in CBC mode for a key and an initialization vector."""
    ciphers = import_module("cryptography.hazmat.primitives.ciphers")
    algorithms, modes = ciphers.algorithms, ciphers.modes
    return ciphers.Cipher(algorithms.AES(key.reveal()), modes.CBC(iv))


# -- authenticated encryption ----------------------------------------------------------------------

_FORMAT = b"\x01"  # the first byte of each value: the version of the format
_NONCE_SIZE = 12  # bytes
_TAG_SIZE = 16  # bytes


class _Sealing(NamedTuple):
    """The cipher and the bytes to encrypt and decrypt values of one column with one key.

    :param cipher: the AESGCM object of the key.
    :param prefix: the bytes of a value before the nonce: the format, then the size of the key's id,
        then the id.
    :param associated_data: bytes that are authenticated but not stored in the value.
    """

    cipher: Any
    prefix: bytes
    associated_data: bytes


class AESGCMColumnEncryptionPolicy(KeyedPolicy):
    """Encrypts with AES-256 in GCM mode, which detects every change of a value.

    Each value has a random nonce, so equal values have different bytes. The server cannot find rows
    by such bytes, so a column of the primary key cannot be encrypted. Keyspace, table, column and
    key id are bound to each value: decrypting fails if somebody has moved a value to another
    column. A value that was moved to another row of the same column is not detected.

    A column may have several keys. The newest key is used to write values. Values are read with the
    key whose id they contain. Do not write more than 2**32 values with one key.

    A value consists of the byte 1, the size of the key id in a byte, the key id in UTF-8, the nonce
    (12 bytes), the encrypted bytes, and the tag (16 bytes).

    :raises DependencyException: if ``cryptography`` is not installed.
    """

    deterministic = False

    def add_column(self, coldesc: ColDesc, key: bytes, type: Any, key_id: str = "1") -> None:
        """Encrypt a column from now on, also in statements that are already prepared.

        This replaces an earlier entry for the column, including its keys.

        :param coldesc: keyspace, table and name of the column, as the server stores them.
        :param key: 32 bytes.
        :param type: the CQL type of its values, such as "int" or "list<text>", or a class of
            `cassandra.cqltypes`. On the server the column is a blob.
        :param key_id: a name for the key, which is stored with each value and is not secret.
        :raises ValueError: if the key or its id has a wrong size, or there is no such type.
        :raises TypeError: if the key is not bytes.
        """
        # Hide the key in both variables, because error reports may show the variables of functions.
        secret = key = None if key is None else SecretKey(key)  # type: ignore[assignment]
        check_key(secret, coldesc)
        self._set_column(coldesc, {key_id: _make_sealing(secret, coldesc, key_id)}, type)

    def add_key(self, coldesc: ColDesc, key: bytes, key_id: str) -> None:
        """Use a new key to write values of a column from now on. Existing keys still read values.

        :param coldesc: the `ColDesc` of a column that was added.
        :param key: the secret key, 32 bytes.
        :param key_id: the name of the key, which is stored with each value.
        :raises ValueError: if the column was not added, or already has another key with this id.
        """
        # Hide the key in both variables, because error reports may show the variables of functions.
        secret = key = None if key is None else SecretKey(key)  # type: ignore[assignment]
        check_key(secret, coldesc)
        with self._lock:
            data = self._data_of(coldesc)
            if key_id in data.key:
                raise ValueError(f"{place_of(coldesc)} has a key of the id {key_id!r} already")
            # Create a new dict, because other threads may be reading the old dict.
            keys = {**data.key, key_id: _make_sealing(secret, coldesc, key_id)}
            self._columns = {**self._columns, ColDesc(*coldesc): data._replace(key=keys)}

    def remove_key(self, coldesc: ColDesc, key_id: str) -> None:
        """Remove a key. Values that were written with this key cannot be read any more.

        :param coldesc: the `ColDesc` of the column.
        :param key_id: the id of the key.
        :raises ValueError: if the column has no such key, or no other key.
        """
        with self._lock:
            data = self._data_of(coldesc)
            # Refuse to remove the only key: values could then neither be written nor read.
            if key_id not in data.key or len(data.key) == 1:
                existing = ", ".join(map(repr, data.key))
                raise ValueError(
                    f"the key {key_id!r} of {place_of(coldesc)} cannot be removed: "
                    f"it has {existing}"
                )
            keys = {other_id: data.key[other_id] for other_id in data.key if other_id != key_id}
            self._columns = {**self._columns, ColDesc(*coldesc): data._replace(key=keys)}

    def key_ids(self, coldesc: ColDesc) -> list[str]:
        """Return the ids of a column's keys. The last key is used to write values.

        :param coldesc: the `ColDesc` of the column.
        """
        return list(self._data_of(coldesc).key)

    def key_id_of(self, coldesc: ColDesc, encrypted_bytes: bytes) -> str:
        """Return the id of the key that a value was written with.

        :param coldesc: the `ColDesc` of the column.
        :param encrypted_bytes: a value as stored by the server.
        :raises DecodeError: if the bytes were not written by this type of policy.
        """
        return self._parse_prefix(coldesc, encrypted_bytes)[0]

    def encrypt(self, coldesc: ColDesc, obj_bytes: bytes) -> bytes:
        """Return the encrypted form of `obj_bytes`, which differs at each call.

        :raises ValueError: if the column was not added.
        """
        keys = self._data_of(coldesc).key
        # Use the newest key: a dict keeps the order in which keys were added.
        sealing: _Sealing = keys[next(reversed(keys))]
        nonce = os.urandom(_NONCE_SIZE)
        sealed: bytes = sealing.cipher.encrypt(nonce, obj_bytes, sealing.associated_data)
        return b"".join((sealing.prefix, nonce, sealed))

    def decrypt(self, coldesc: ColDesc, encrypted_bytes: bytes) -> bytes:
        """Return the original bytes of an encrypted value.

        :raises ValueError: if the column was not added.
        :raises DecodeError: if the value was written for another column or with another key, or if
            it was changed; DecodeError is a ValueError.
        """
        from cryptography.exceptions import InvalidTag

        key_id, offset = self._parse_prefix(coldesc, encrypted_bytes)
        keys = self._data_of(coldesc).key
        sealing: _Sealing | None = keys.get(key_id)
        if sealing is None:
            existing = ", ".join(map(repr, keys))
            raise self._make_decode_error(
                coldesc, f"it was written with the key {key_id!r}, and known are {existing}"
            )
        # `sealed` is the encrypted bytes with the tag, which the cipher checks.
        nonce_end = offset + _NONCE_SIZE
        nonce, sealed = encrypted_bytes[offset:nonce_end], encrypted_bytes[nonce_end:]
        try:
            plain: bytes = sealing.cipher.decrypt(nonce, sealed, sealing.associated_data)
        except InvalidTag:
            raise self._make_decode_error(
                coldesc,
                f"the key {key_id!r} is not the one that it was written with, it was written for "
                "another column, or it is damaged",
            ) from None
        return plain

    def _parse_prefix(self, column: ColDesc, data: bytes) -> tuple[str, int]:
        """Return (key id, offset of the nonce) for an encrypted value.

        :raises DecodeError: if the value does not have the format of this policy.
        """
        self._data_of(column)  # raises an error if the column was not added
        if len(data) >= 2 and data[:1] == _FORMAT:
            offset = 2 + data[1]
            if len(data) >= offset + _NONCE_SIZE + _TAG_SIZE:
                try:
                    return bytes(data[2:offset]).decode(), offset
                except UnicodeDecodeError:
                    pass
        raise self._make_decode_error(
            column, f"{len(data)} bytes are not a value that {type(self).__name__} has written"
        )


def _make_sealing(key: SecretKey | None, column: ColDesc, key_id: str) -> _Sealing:
    """Return the cipher and the bytes to encrypt and decrypt values of a column with a key.

    :raises ValueError: if the key id has no bytes, or more than 255.
    """
    AESGCM = import_module("cryptography.hazmat.primitives.ciphers.aead").AESGCM

    assert key is not None
    name = key_id.encode()
    if not 1 <= len(name) <= 255:
        raise ValueError(
            f"{place_of(column)}: a key id has 1 to 255 bytes, but {key_id!r} has {len(name)}"
        )
    # Put the size in front of each name, so that no two columns have the same associated data.
    parts = [part.encode() for part in column] + [name]
    associated_data = b"turbocql column" + _FORMAT
    associated_data += b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return _Sealing(AESGCM(key.reveal()), _FORMAT + bytes((len(name),)) + name, associated_data)


__getattr__ = lazy_names(__name__)
