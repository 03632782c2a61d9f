"""Tests of what all encryption policies have in common.

All policies have columns and types, and their errors contain no values or keys.
"""

from __future__ import annotations

import copy
import pickle
import sys
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from cassandra.column_encryption import keyed
from cassandra.column_encryption.policies import (
    AES256ColumnEncryptionPolicy,
    AESGCMColumnEncryptionPolicy,
)
from cassandra.cqltypes import Int32Type
from cassandra.errors import DependencyException
from cassandra.policies import ColDesc, ColumnEncryptionPolicy

KEY = bytes(range(32))
COLUMN = ColDesc("ks", "t", "c")

Policy = AES256ColumnEncryptionPolicy | AESGCMColumnEncryptionPolicy


@pytest.fixture(params=[AES256ColumnEncryptionPolicy, AESGCMColumnEncryptionPolicy])
def policy(request: pytest.FixtureRequest) -> Policy:
    new_policy: Policy = request.param()
    new_policy.add_column(COLUMN, KEY, "int")
    return new_policy


def test_a_policy_contains_the_columns_that_were_added(policy: Policy) -> None:
    other_column = ColDesc("ks", "t", "d")
    assert isinstance(policy, ColumnEncryptionPolicy)
    assert policy.contains_column(COLUMN)
    assert not policy.contains_column(other_column)
    assert policy.column_type(COLUMN) is Int32Type
    # Applications may pass a plain tuple instead of a `ColDesc`.
    column_tuple = ("ks", "t", "c")
    assert policy.decrypt(column_tuple, policy.encrypt(column_tuple, b"x")) == b"x"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("key", "cqltype", "error", "message"),
    [
        (b"short", "int", ValueError, "256-bit encryption key, not one of 40 bits"),
        (KEY * 2, "int", ValueError, "not one of 512 bits"),
        (None, "int", ValueError, "Key supplied to add_column cannot be None"),
        ("k" * 32, "int", TypeError, "32 bytes, not a text"),
        (KEY, None, ValueError, "Type supplied to add_column cannot be None"),
        (KEY, "nonsense", ValueError, "Type 'nonsense' is not a supported type"),
        (KEY, "list", ValueError, "Type 'list' is not a supported type"),
        (KEY, "list<int", ValueError, "Type 'list<int' is not a supported type"),
        (KEY, "int, text", ValueError, "is not a supported type"),
        (KEY, "frozen<address>", ValueError, "user-defined types are passed as their class"),
        (KEY, 5, ValueError, "Type 5 is not a supported type"),
    ],
)
def test_a_column_with_a_wrong_key_or_type_is_refused(
    policy: Policy, key: Any, cqltype: Any, error: type[Exception], message: str
) -> None:
    column = ColDesc("ks", "t", "new")
    with pytest.raises(error, match=rf"ks\.t\.new: .*{message}"):
        policy.add_column(column, key, cqltype)
    assert not policy.contains_column(column)


# The calls that need a column which was added to the policy.
CALLS: list[Callable[[Policy, ColDesc], Any]] = [
    lambda policy, column: policy.column_type(column),
    lambda policy, column: policy.encrypt(column, b"x"),
    lambda policy, column: policy.decrypt(column, bytes(64)),
    lambda policy, column: policy.encode_and_encrypt(column, 1),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("error", [KeyError, ValueError])
def test_calls_for_an_unknown_column_are_refused(
    policy: Policy, call: Callable[[Policy, ColDesc], Any], error: type[Exception]
) -> None:
    with pytest.raises(error, match=r"Could not find column ks\.t\.d .*of table ks\.t it knows c"):
        call(policy, ColDesc("ks", "t", "d"))
    with pytest.raises(error, match=r"column ks\.u\.c .*it knows no column of table ks\.u"):
        call(policy, ColDesc("ks", "u", "c"))


def test_null_is_not_encrypted(policy: Policy) -> None:
    with pytest.raises(ValueError, match="cannot be None"):
        policy.encode_and_encrypt(COLUMN, None)


@pytest.mark.parametrize(("value", "error"), [("hunter2", TypeError), (1 << 40, ValueError)])
def test_a_value_that_does_not_fit_is_not_shown(
    policy: Policy, value: Any, error: type[Exception]
) -> None:
    with pytest.raises(
        error, match=r"ks\.t\.c is encrypted and takes int: this (str|int) "
    ) as info:
        policy.encode_and_encrypt(COLUMN, value)
    assert str(value) not in "".join(traceback.format_exception(info.value))


def test_without_cryptography_a_dependency_error_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    for kind in (AES256ColumnEncryptionPolicy, AESGCMColumnEncryptionPolicy):
        with pytest.raises(DependencyException, match=r"pip install turbocql\[encryption\]"):
            kind()


@pytest.mark.parametrize("take", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_policy_cannot_be_pickled_or_copied(policy: Policy, take: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="secret keys, so it cannot be pickled or copied"):
        take(policy)
    with pytest.raises(TypeError, match="a secret key cannot be pickled"):
        pickle.dumps(_a_key())


def _a_key() -> Any:
    policy = AES256ColumnEncryptionPolicy()
    policy.add_column(COLUMN, KEY, "int")
    return policy._columns[COLUMN].key


def test_the_repr_shows_columns_and_no_keys(policy: Policy) -> None:
    name = type(policy).__name__
    assert repr(policy) == f"<{name} of ks.t.c>"
    assert repr(type(policy)()) == f"<{name} of no columns>"
    policy.add_column(ColDesc("ks", "a", "b"), KEY, "text")
    assert repr(policy) == f"<{name} of ks.a.b, ks.t.c>"


# Names of types as an application may write them, and the names of the same types in CQL.
TYPES = {
    "INT": "int",
    "frozen<list<int>>": "list<int>",
    "map<text, frozen<set<uuid>>>": "map<text, set<uuid>>",
    "tuple<int, text>": "tuple<int, text>",
    "vector<float, 3>": "vector<float, 3>",
    "vector<vector<int, 2>, 3>": "vector<vector<int, 2>, 3>",
}


@pytest.mark.parametrize("name", TYPES)
def test_types_by_their_names(policy: Policy, name: str) -> None:
    """A column's type can be given by its CQL name."""
    policy.add_column(COLUMN, KEY, name)
    type_name = policy.column_type(COLUMN).cql_parameterized_type().replace("frozen<", "")
    assert type_name.replace(">", "") == TYPES[name].replace(">", "")


def test_statements_are_renewed_when_columns_are_added(policy: Policy) -> None:
    """If a column is added to a policy, prepared statements that follow the policy are notified.

    The policy calls their method `renew_encryption`, after which they encrypt the new column.
    """

    class Prepared:
        renewed = 0

        def renew_encryption(self) -> None:
            self.renewed += 1

    prepared: Any = Prepared()
    assert keyed.KeyedPolicy.follow(policy, prepared)
    policy.add_column(ColDesc("ks", "t", "d"), KEY, "int")
    assert prepared.renewed == 1
    assert policy.contains_column(ColDesc("ks", "t", "d"))

    class WithOwnColumns(type(policy)):  # type: ignore[misc]
        def contains_column(self, coldesc: ColDesc) -> bool:
            return True

    class WithOwnTypes(type(policy)):  # type: ignore[misc]
        def column_type(self, coldesc: ColDesc) -> Any:
            return Int32Type

    # These policies override a method that may return another result at any time. So `follow`
    # returns False, and statements call the method each time.
    for custom in (WithOwnColumns(), WithOwnTypes()):
        assert not keyed.KeyedPolicy.follow(custom, prepared)


def test_a_statement_that_cannot_be_renewed_does_not_stop_the_renewal_of_others(
    policy: Policy,
) -> None:
    """If `renew_encryption` fails for a statement, it is still called for the other statements.

    The call that adds the column to the policy raises the error.
    """
    renewed: list[str] = []

    class Prepared:
        def __init__(self, name: str, error: Exception | None = None) -> None:
            self.name = name
            self.error = error

        def renew_encryption(self) -> None:
            renewed.append(self.name)
            if self.error is not None:
                raise self.error

    statements: list[Any] = [
        Prepared("first", ValueError("no plan")),
        Prepared("second"),
        Prepared("third", ValueError("no plan")),
    ]
    for prepared in statements:
        assert keyed.KeyedPolicy.follow(policy, prepared)
    with pytest.raises(ValueError, match="no plan"):
        policy.add_column(ColDesc("ks", "t", "d"), KEY, "int")
    assert sorted(renewed) == ["first", "second", "third"]


def test_a_fork_leaves_no_lock_held(policy: Policy) -> None:
    """After a fork, a policy gets a new lock, because a thread may have held the old lock."""
    lock = policy._lock
    with lock:
        # A child process makes this call after a fork. Without it, the child's copy of the lock
        # would be held for ever.
        policy._renew_locks()
        # If the lock had not been replaced, this call would block.
        policy.add_column(ColDesc("ks", "t", "d"), KEY, "int")
    assert policy._lock is not lock


def test_keys_have_256_bits() -> None:
    assert keyed.AES256_KEY_SIZE_BYTES == 32
