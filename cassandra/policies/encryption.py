"""The base class of policies that encrypt columns on the client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra._imports import Deferred
from cassandra.protocol.encrypted import ColDesc

if TYPE_CHECKING:
    from cassandra import cqltypes
    from cassandra.query.prepared import PreparedStatement
else:
    cqltypes = Deferred("cassandra.cqltypes")

__all__ = ["ColDesc", "ColumnEncryptionPolicy"]


class ColumnEncryptionPolicy:
    """Defines which columns are encrypted, and encrypts and decrypts their values.

    Pass a policy to `Cluster` as `column_encryption_policy`. Values that you bind to an encrypted
    column are encrypted, and values of that column in results are decrypted. For the server, such a
    column is a blob. Several threads may call the methods at the same time. Each method gets a
    `ColDesc`, which names the keyspace, table and column. `encrypt` and `decrypt` also get the
    bytes of a value, and are not called for null and unset values.
    """

    deterministic: bool = True
    """False if encrypting the same value gives different bytes each time.

    A column of the primary key then cannot be encrypted, because rows could not be found by it.
    """

    def encrypt(self, coldesc: ColDesc, obj_bytes: bytes) -> bytes:
        """Return the encrypted form of a value's bytes.

        :param coldesc: the `ColDesc` of the column.
        :param obj_bytes: the value's bytes in the wire format of its type.
        """
        raise NotImplementedError

    def decrypt(self, coldesc: ColDesc, encrypted_bytes: bytes) -> bytes:
        """Return the original bytes of an encrypted value.

        :param coldesc: the `ColDesc` of the column.
        :param encrypted_bytes: the value as stored by the server.
        """
        raise NotImplementedError

    def add_column(self, coldesc: ColDesc, key: bytes, type: Any) -> None:
        """Encrypt a column from now on.

        :param coldesc: the `ColDesc` of the column.
        :param key: the secret key.
        :param type: the CQL type of the column's values, such as "int".
        """
        raise NotImplementedError

    def contains_column(self, coldesc: ColDesc) -> bool:
        """Return True if the column is encrypted.

        :param coldesc: the `ColDesc` of the column.
        """
        raise NotImplementedError

    def column_type(self, coldesc: ColDesc) -> type[cqltypes.CassandraType]:
        """Return the `cassandra.cqltypes` class of the column's values.

        :param coldesc: the `ColDesc` of the column.
        """
        raise NotImplementedError

    def encode_and_encrypt(self, coldesc: ColDesc, obj: Any) -> bytes:
        """Encode and encrypt a value for a statement that is not prepared, and return the bytes.

        :param coldesc: the `ColDesc` of the column.
        :param obj: the value, or None.
        """
        raise NotImplementedError

    def follow(self, prepared: PreparedStatement) -> bool:
        """Register `prepared`: call its `renew_encryption` after each change of the policy.

        Return False if the policy does not support this. The driver then calls `contains_column`
        for each value that is bound.

        :param prepared: a `PreparedStatement`.
        """
        return False


ColumnEncryptionPolicy.__module__ = "cassandra.policies"
