"""Tests of the policies of column encryption.

The tests cover the format that other drivers share, authenticated encryption, key rotation, and
errors, which name the column but no secret.
"""

from __future__ import annotations

import datetime
import decimal
import logging
import traceback
import uuid
from typing import Any

import pytest

from cassandra.column_encryption.policies import (
    AES256_KEY_SIZE_BYTES,
    AES256ColumnEncryptionPolicy,
    AESGCMColumnEncryptionPolicy,
)
from cassandra.cqltypes import Int32Type, ListType
from cassandra.errors import DecodeError
from cassandra.policies import ColDesc

KEY = bytes(range(AES256_KEY_SIZE_BYTES))
OTHER_KEY = bytes(range(100, 132))
IV = bytes(range(16))
COLUMN = ColDesc("ks", "t", "c")

# cassandra-driver 3.30, run as a black box, has written these values with KEY and IV. Each entry
# has the type, the value, and the ciphertext without the initialization vector that precedes it.
VECTORS: list[tuple[str, Any, str]] = [
    ("int", 1, "1d549fbe0ac07855d11e4fbe55326f2b"),
    ("int", -1, "7ef6ef8f10839158b9437891c7604e3c"),
    ("text", "", "e9c3ef8ab23453e6f0749cd636e7a88e"),
    ("text", "ada", "d4c436eda44ef08e053522ad6c0f9568"),
    (
        "text",
        "xxxxxxxxxxxxxxxx",
        "a4cd054c7e4ba6a4359c1b02e48d2a7b06634849289c8eb0e248a7d3ed4dee67",
    ),
    (
        "text",
        "éééééééééééééééééééé",
        "c4293236a2623e1b552dff07279c4d11d199adc9506b3c564dd45963de4e0ce3dd758fe626f60f57e13e895ffaa4856b",
    ),
    ("bigint", 1099511627776, "6b382a19e0f30c065e21d6cb4533d7a7"),
    ("boolean", True, "bf6982265ca7868a640b6afb28c677c8"),
    ("double", 1.5, "b28cac31e7b429300d3c922c1d5f85c5"),
    ("blob", b"\x00\xff", "7a228d579c9d84b150229b4b101032fe"),
    (
        "uuid",
        uuid.UUID("00000000-0000-0000-0000-000000000007"),
        "6707727b78e59a3721269918fcf48480e3d57a680b6586d4d0a860aebcf8bf36",
    ),
    (
        "timestamp",
        datetime.datetime(2024, 2, 29, 12, 30, 1, 500000),
        "234570ff61cfd6837e43cbad75ff1449",
    ),
    ("date", datetime.date(2024, 2, 29), "3e0107f23b1de2b2f93640616a2c418a"),
    ("decimal", decimal.Decimal("-1.25"), "0bec658c0db9a7d369670d791b47e3b3"),
    ("varint", -70000, "787aa1f0f9d712173f2a4ce5fcf032da"),
    ("inet", "127.0.0.1", "b6f2dadd3b4bb4e925153a673b689bb3"),
    ("ascii", "abc", "e98b50daffee0c8e527bba7859e83713"),
]

Policy = AES256ColumnEncryptionPolicy | AESGCMColumnEncryptionPolicy


@pytest.fixture(params=[AES256ColumnEncryptionPolicy, AESGCMColumnEncryptionPolicy])
def policy(request: pytest.FixtureRequest) -> Policy:
    new_policy: Policy = request.param()
    new_policy.add_column(COLUMN, KEY, "int")
    return new_policy


@pytest.mark.parametrize(("type_name", "value", "encrypted"), VECTORS, ids=str)
def test_values_have_the_format_of_cassandra_driver(
    type_name: str, value: Any, encrypted: str
) -> None:
    """This driver encrypts a value to the same bytes as cassandra-driver, and decrypts them."""
    policy = AES256ColumnEncryptionPolicy(iv=IV)
    policy.add_column(COLUMN, KEY, type_name)
    stored = IV + bytes.fromhex(encrypted)
    assert policy.encode_and_encrypt(COLUMN, value) == stored
    # The reader needs no initialization vector, because each stored value contains one.
    reader = AES256ColumnEncryptionPolicy()
    reader.add_column(COLUMN, KEY, type_name)
    assert reader.decrypt(COLUMN, stored) == policy.decrypt(COLUMN, stored)
    read_value = reader.column_type(COLUMN).from_binary(
        reader.decrypt(COLUMN, stored), protocol_version=4
    )
    assert str(read_value) == str(value)


def test_equal_values_have_equal_ciphertexts_in_one_policy_only() -> None:
    first, second = AES256ColumnEncryptionPolicy(), AES256ColumnEncryptionPolicy()
    for each in (first, second):
        each.add_column(COLUMN, KEY, "int")
    assert first.encode_and_encrypt(COLUMN, 5) == first.encode_and_encrypt(COLUMN, 5)
    assert first.encode_and_encrypt(COLUMN, 5) != second.encode_and_encrypt(COLUMN, 5)
    assert second.decrypt(COLUMN, first.encrypt(COLUMN, b"x")) == b"x"


class Prepared:
    """A fake statement with the attributes that a policy reads.

    The statement writes the columns of the table. The column `c` is encrypted, and the first column
    is the partition key.
    """

    routing_key_indexes = (0,)

    def __init__(self, *names: str) -> None:
        self.column_metadata = [("ks", "t", name, Int32Type) for name in names]


@pytest.mark.parametrize(
    ("iv", "names", "is_warned_of"),
    [(None, "cd", True), (IV, "cd", False), (None, "dc", False), (None, "d", False)],
)
def test_a_partition_key_with_a_random_initialization_vector_is_warned_of(
    iv: bytes | None, names: str, is_warned_of: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A partition key with a random initialization vector causes a warning.

    Another process encrypts the same key to other bytes, so it does not find the rows.
    """
    policy = AES256ColumnEncryptionPolicy(iv=iv)
    policy.add_column(COLUMN, KEY, "int")
    prepared: Any = Prepared(*names)
    assert policy.follow(prepared)
    messages = [record.getMessage() for record in caplog.records]
    assert [message.partition(" is ")[0] for message in messages] == ["ks.t.c"] * is_warned_of


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 31, 32, 100_000])
def test_values_of_all_sizes(policy: Policy, size: int) -> None:
    """Values of any size are the same after encryption and decryption."""
    data = bytes(index % 251 for index in range(size))
    assert policy.decrypt(COLUMN, policy.encrypt(COLUMN, data)) == data
    # A short plaintext might occur in the ciphertext by chance, so check only longer plaintexts.
    assert size < 15 or data not in policy.encrypt(COLUMN, data)


@pytest.mark.parametrize(
    ("cqltype", "value"),
    [
        ("list<int>", [1, 2]),
        ("map<text, frozen<list<int>>>", {"a": [1]}),
        ("tuple<int, text>", (1, "a")),
        ("frozen<set<int>>", {3}),
        ("vector<float, 3>", [0.5, 1.0, 2.0]),
        ("INT", 7),
        (Int32Type, 7),
        (ListType.apply_parameters((Int32Type,)), [7]),
    ],
    ids=str,
)
def test_values_of_each_type_come_back(policy: Policy, cqltype: Any, value: Any) -> None:
    """A column's type may be given by its CQL name or as a class.

    Values of each type are unchanged after encryption and decryption.
    """
    policy.add_column(COLUMN, KEY, cqltype)
    data = policy.decrypt(COLUMN, policy.encode_and_encrypt(COLUMN, value))
    read_value = policy.column_type(COLUMN).from_binary(data, protocol_version=4)
    assert type(value)(read_value) == value


def test_cache_info_counts_uses_of_the_cipher_cache() -> None:
    policy = AES256ColumnEncryptionPolicy()
    policy.add_column(COLUMN, KEY, "int")
    # The numbers are hits, misses, the largest size and the current size of the cache.
    assert policy.cache_info() == (0, 0, 128, 0)
    policy.decrypt(COLUMN, policy.encrypt(COLUMN, b"x"))
    assert policy.cache_info() == (1, 1, 128, 1)


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 2, 15, 16, 17, 31, 33])
def test_bytes_that_were_not_encrypted(policy: Policy, size: int) -> None:
    """If bytes were never encrypted, decrypting them raises an error.

    The error has the column and the number of bytes.
    """
    with pytest.raises(DecodeError, match=rf"ks\.t\.c cannot be decrypted: {size} bytes are not"):
        policy.decrypt(COLUMN, bytes(size))


def test_decrypting_with_a_wrong_key_fails() -> None:
    """If the key is wrong, decrypting raises an error that says so."""
    for policy_class, reason in (
        (AES256ColumnEncryptionPolicy, "the key is not the one that it was written with"),
        (AESGCMColumnEncryptionPolicy, "the key '1' is not the one that it was written with"),
    ):
        # Use a fixed initialization vector. With a random one, the wrong plaintext could have valid
        # padding by chance, and no error would be raised.
        arguments: tuple[Any, ...] = () if policy_class is AESGCMColumnEncryptionPolicy else (IV,)
        writer: Policy = policy_class(*arguments)
        reader: Policy = policy_class()
        writer.add_column(COLUMN, KEY, "int")
        reader.add_column(COLUMN, OTHER_KEY, "int")
        with pytest.raises(DecodeError, match=rf"ks\.t\.c cannot be decrypted: {reason}") as info:
            reader.decrypt(COLUMN, writer.encrypt(COLUMN, b"\0\0\0\1"))
        # Applications catch ValueError, so the error must be one.
        assert isinstance(info.value, ValueError)


def test_a_wrong_initialization_vector() -> None:
    """An initialization vector of a size other than 128 bits is refused."""
    with pytest.raises(ValueError, match="128-bit initialization vector, not one of 40 bits"):
        AES256ColumnEncryptionPolicy(b"short")


# -- authenticated encryption ----------------------------------------------------------------------


@pytest.fixture
def sealed() -> AESGCMColumnEncryptionPolicy:
    policy = AESGCMColumnEncryptionPolicy()
    policy.add_column(COLUMN, KEY, "int", key_id="2024")
    return policy


def test_each_encryption_uses_a_new_nonce(sealed: AESGCMColumnEncryptionPolicy) -> None:
    assert len({sealed.encrypt(COLUMN, b"same") for _ in range(100)}) == 100


def test_each_changed_byte_is_noticed(sealed: AESGCMColumnEncryptionPolicy) -> None:
    stored = sealed.encrypt(COLUMN, b"balance: 10")
    for index in range(len(stored)):
        damaged = bytearray(stored)
        damaged[index] ^= 1
        with pytest.raises(DecodeError, match=r"ks\.t\.c cannot be decrypted"):
            sealed.decrypt(COLUMN, bytes(damaged))
    for size in range(len(stored)):
        with pytest.raises(DecodeError, match=r"ks\.t\.c cannot be decrypted"):
            sealed.decrypt(COLUMN, stored[:size])


@pytest.mark.parametrize(
    "other_names",
    [("ks", "t", "d"), ("ks", "u", "c"), ("k", "t", "c"), ("k", "st", "c")],
    ids=".".join,
)
def test_decrypting_a_value_as_that_of_another_column_fails(
    sealed: AESGCMColumnEncryptionPolicy, other_names: tuple[str, str, str]
) -> None:
    """Decrypting a value that was written for another column raises an error that says so."""
    other_column = ColDesc(*other_names)
    sealed.add_column(other_column, KEY, "int", key_id="2024")
    with pytest.raises(DecodeError, match="it was written for another column"):
        sealed.decrypt(other_column, sealed.encrypt(COLUMN, b"x"))


def test_values_stay_readable_until_their_key_is_removed(
    sealed: AESGCMColumnEncryptionPolicy,
) -> None:
    """A value can be read as long as the policy has the key with which it was encrypted."""
    old_ciphertext = sealed.encrypt(COLUMN, b"old")
    sealed.add_key(COLUMN, OTHER_KEY, "2025")
    new_ciphertext = sealed.encrypt(COLUMN, b"new")
    assert sealed.key_ids(COLUMN) == ["2024", "2025"]
    assert [
        sealed.key_id_of(COLUMN, ciphertext) for ciphertext in (old_ciphertext, new_ciphertext)
    ] == ["2024", "2025"]
    assert [
        sealed.decrypt(COLUMN, ciphertext) for ciphertext in (old_ciphertext, new_ciphertext)
    ] == [b"old", b"new"]
    sealed.remove_key(COLUMN, "2024")
    assert sealed.decrypt(COLUMN, new_ciphertext) == b"new"
    with pytest.raises(DecodeError, match=r"written with the key '2024', and known are '2025'"):
        sealed.decrypt(COLUMN, old_ciphertext)


def test_a_key_id_is_bound_to_its_value(sealed: AESGCMColumnEncryptionPolicy) -> None:
    """A value is bound to the id of its key: the same key under another id does not decrypt it."""
    stored = sealed.encrypt(COLUMN, b"x")
    sealed.add_key(COLUMN, KEY, "2025")
    with pytest.raises(DecodeError, match="the key '2025' is not the one"):
        sealed.decrypt(COLUMN, stored.replace(b"2024", b"2025"))


def test_keys_that_cannot_be_added_or_removed(sealed: AESGCMColumnEncryptionPolicy) -> None:
    """Keys that are duplicate, short or unnamed cannot be added.

    The key in use and an unknown key cannot be removed.
    """
    with pytest.raises(ValueError, match=r"ks\.t\.c has a key of the id '2024' already"):
        sealed.add_key(COLUMN, OTHER_KEY, "2024")
    with pytest.raises(ValueError, match=r"ks\.t\.c: .*not one of 8 bits"):
        sealed.add_key(COLUMN, b"x", "2025")
    for name in ("", "x" * 256):
        with pytest.raises(ValueError, match="a key id has 1 to 255 bytes"):
            sealed.add_key(COLUMN, OTHER_KEY, name)
    for name in ("2024", "1999"):
        with pytest.raises(ValueError, match=rf"{name}' of ks\.t\.c cannot be removed: .*'2024'"):
            sealed.remove_key(COLUMN, name)
    with pytest.raises(KeyError, match=r"ks\.t\.d"):
        sealed.add_key(ColDesc("ks", "t", "d"), KEY, "1")
    assert sealed.key_ids(COLUMN) == ["2024"]


# -- secrets ---------------------------------------------------------------------------------------

SECRET = b"a key that nobody shall ever see"


def shows_the_key(text: str) -> bool:
    return SECRET.decode() in text or SECRET.hex() in text


def locals_of(error: BaseException) -> str:
    """Return the local variables of the driver's stack frames as a string.

    Some tools show these variables with a traceback, so they must not contain a secret.
    """
    frames = traceback.TracebackException.from_exception(error, capture_locals=True)
    return "".join(
        f"{frame.name} {frame.locals}"
        for frame in frames.stack
        if "/tests/" not in frame.filename.replace("\\", "/")
    )


def test_a_key_is_in_no_repr_log_or_error(
    policy: Policy, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """No repr, log, output, error or local variable of the driver contains a key."""
    caplog.set_level(logging.DEBUG)
    policy.add_column(COLUMN, SECRET, "int")
    stored = policy.encrypt(COLUMN, b"x")
    policy.decrypt(COLUMN, stored)
    assert repr(policy) == f"<{type(policy).__name__} of ks.t.c>"
    texts = [repr(policy), str(policy), repr(vars(policy)), repr(policy._columns)]
    for fail in (
        lambda: policy.add_column(COLUMN, SECRET + b"!", "int"),
        lambda: policy.add_column(COLUMN, SECRET, "nonsense"),
        lambda: policy.add_column(COLUMN, SECRET.decode(), "int"),  # type: ignore[arg-type]
        lambda: policy.add_column(None, SECRET, "int"),  # type: ignore[arg-type]
        lambda: policy.decrypt(COLUMN, b"x" * 32),
        lambda: policy.decrypt(COLUMN, None),  # type: ignore[arg-type]
        lambda: policy.encrypt(COLUMN, None),  # type: ignore[arg-type]
        lambda: policy.encode_and_encrypt(COLUMN, "x"),
    ):
        with pytest.raises((TypeError, ValueError)) as raised:
            fail()
        texts += [str(raised.value), locals_of(raised.value)]
    texts += [caplog.text, *capsys.readouterr()]
    assert not any(map(shows_the_key, texts))
