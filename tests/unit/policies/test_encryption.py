"""The base class of policies that encrypt columns."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import policies
from cassandra.policies.encryption import ColDesc, ColumnEncryptionPolicy

COLUMN = ColDesc("ks", "t", "c")


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("encrypt", (COLUMN, b"a")),
        ("decrypt", (COLUMN, b"a")),
        ("add_column", (COLUMN, b"key", "int")),
        ("contains_column", (COLUMN,)),
        ("column_type", (COLUMN,)),
        ("encode_and_encrypt", (COLUMN, 5)),
    ],
)
def test_methods_of_the_base_class_are_abstract(method: str, arguments: Any) -> None:
    """The methods of the base class raise NotImplementedError."""
    with pytest.raises(NotImplementedError):
        getattr(ColumnEncryptionPolicy(), method)(*arguments)


def test_a_policy_is_deterministic_and_does_not_report_changes_by_default() -> None:
    """By default, `deterministic` is True, and `follow` returns False.

    `follow` registers a prepared statement that must know of changes of the policy. False means
    that the policy does not support this.
    """
    policy = ColumnEncryptionPolicy()
    prepared: Any = object()
    assert policy.deterministic is True
    assert policy.follow(prepared) is False


def test_the_public_module_of_the_policy() -> None:
    """`ColumnEncryptionPolicy` names `cassandra.policies` as its module."""
    assert policies.ColumnEncryptionPolicy is ColumnEncryptionPolicy
    assert ColumnEncryptionPolicy.__module__ == "cassandra.policies"


def test_descriptions_of_columns_are_compared_by_their_names() -> None:
    """Two `ColDesc` are equal if keyspace, table and column are equal."""
    assert ColDesc("ks", "t", "c") == COLUMN
    assert ColDesc("ks", "t", "d") != COLUMN
