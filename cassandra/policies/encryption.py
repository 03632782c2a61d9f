"""The base of policies that encrypt columns in the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra.protocol.encrypted import ColDesc

if TYPE_CHECKING:
    from cassandra.query.prepared import PreparedStatement

__all__ = ["ColDesc", "ColumnEncryptionPolicy"]


class ColumnEncryptionPolicy:
    """Says which columns are encrypted, and encrypts and decrypts their values.

    It is passed to `Cluster` as `column_encryption_policy`. Values that are bound to a column that
    it contains are encrypted, and values of that column in results are decrypted. The server knows
    such a column as a blob. Methods are called by several threads at the same time. They take a
    `ColDesc`, and bytes in the form of the wire; null and unset values do not come here.
    """

    deterministic: bool = True
    """False if the same value is encrypted to other bytes each time.

    A column of the primary key cannot be encrypted then: no row could be found by it.
    """

    def encrypt(self, coldesc: ColDesc, obj_bytes: bytes) -> bytes:
        """Return the encrypted form of a value's bytes.

        :param coldesc: the `ColDesc` of the column.
        :param obj_bytes: the value's bytes, by the codec of its type.
        """
        raise NotImplementedError

    def decrypt(self, coldesc: ColDesc, encrypted_bytes: bytes) -> bytes:
        """Return the bytes that `encrypt` was given.

        :param coldesc: the `ColDesc` of the column.
        :param encrypted_bytes: the value as the server has it.
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

    def column_type(self, coldesc: ColDesc) -> Any:
        """Return the `cassandra.cqltypes` class of the column's values.

        :param coldesc: the `ColDesc` of the column.
        """
        raise NotImplementedError

    def encode_and_encrypt(self, coldesc: ColDesc, obj: Any) -> bytes:
        """Return a value as the server has it, for a statement that is not prepared.

        :param coldesc: the `ColDesc` of the column.
        :param obj: the value, or None.
        """
        raise NotImplementedError

    def follow(self, prepared: PreparedStatement) -> bool:
        """Return True if the policy will notify `prepared` of columns that are added later.

        If this is False, each value that is bound asks `contains_column`.

        :param prepared: a `PreparedStatement`.
        """
        return False


ColumnEncryptionPolicy.__module__ = "cassandra.policies"
