"""Test the tokens of each partitioner, and the rings of partitioners other than Murmur3."""

from __future__ import annotations

import hashlib

import pytest

from cassandra.metadata.placement.tokens import (
    BytesToken,
    MD5Token,
    Murmur3Token,
    SortedRing,
    Token,
    checked_token,
    token_class_of,
)

PACKAGE = "org.apache.cassandra.dht."


def test_partitioners() -> None:
    """`token_class_of` returns the token class of a partitioner, or None if it is unknown.

    The partitioner may be named with or without its Java package ("org.apache.cassandra.dht.").
    """
    assert token_class_of(f"{PACKAGE}Murmur3Partitioner") is Murmur3Token
    assert token_class_of("RandomPartitioner") is MD5Token
    assert token_class_of(f"{PACKAGE}ByteOrderedPartitioner") is BytesToken
    for unknown in (f"{PACKAGE}LocalPartitioner", "", None):
        assert token_class_of(unknown) is None


def test_partitioners_compute_the_server_s_tokens() -> None:
    """For each partitioner, `from_key` computes the same token as the server."""
    # Cassandra's function token() returns these tokens for the text 'a' and the int 1.
    assert Murmur3Token.from_key(b"a").value == -8839064797231613815
    assert Murmur3Token.from_key(b"\0\0\0\x01").value == -4069959284402364209
    digest = hashlib.md5(b"a", usedforsecurity=False).digest()
    assert MD5Token.from_key(b"a").value == abs(int.from_bytes(digest, "big", signed=True))
    assert BytesToken.from_key(b"a").value == b"a"


@pytest.mark.parametrize("token_class", [Murmur3Token, MD5Token])
def test_a_string_is_the_key_of_a_text_column(token_class: type[Token]) -> None:
    """A string as key stands for its UTF-8 bytes, as in cassandra-driver."""
    for text in ("", "abc", "é"):
        assert token_class.from_key(text) == token_class.from_key(text.encode())
        assert token_class.hash_fn(text) == token_class.hash_fn(text.encode())


def test_tokens_are_read_from_strings() -> None:
    """`from_string` reads each class's tokens from a string, and refuses malformed strings."""
    assert Murmur3Token.from_string("-5") == Murmur3Token("-5")
    assert Murmur3Token(-5) == Murmur3Token("-5")
    assert MD5Token.from_string("5").value == 5
    for text in ("00ff", "0x00ff", "0X00FF", b"00ff"):
        assert BytesToken.from_string(text).value == b"\0\xff"
    with pytest.raises(ValueError, match="is hexadecimal, but one is 'x1'"):
        BytesToken.from_string("x1")
    with pytest.raises(TypeError, match="token must be bytes, but is str: '00'"):
        BytesToken("00")  # type: ignore[arg-type]


def test_tokens_of_one_class_have_an_order() -> None:
    """Tokens of one class have an order, and tokens of different classes do not."""
    low, high = Murmur3Token(-5), Murmur3Token(5)
    assert low < high
    assert high >= low
    assert len({low, Murmur3Token(-5), high}) == 2
    assert low != MD5Token(-5)
    with pytest.raises(TypeError):
        _ = low < MD5Token(5)
    assert str(low) == "<Murmur3Token: -5>"


@pytest.mark.parametrize(
    ("token_class", "first_node_tokens", "second_node_tokens"),
    [(MD5Token, ["10", "30"], ["20", "30"]), (BytesToken, ["10", "30"], ["20", "30"])],
)
def test_a_ring_sorts_tokens_and_finds_their_owners(
    token_class: type[Token], first_node_tokens: list[str], second_node_tokens: list[str]
) -> None:
    """The ring sorts the tokens of all nodes and finds the owner of each token."""
    ring = SortedRing(token_class, [first_node_tokens, second_node_tokens])
    values = [token_class.from_string(text).value for text in ("10", "20", "30")]
    # Both nodes name the token 30, so the first node keeps it.
    assert ring.tokens() == values
    assert ring.owners() == [0, 1, 0]
    assert len(ring) == 3
    # A node owns the tokens up to and including its own token. Tokens after the last token belong
    # to the first node.
    assert [ring.position(value) for value in values] == [0, 1, 2]
    assert ring.position(token_class.from_string("11").value) == 1
    assert ring.position(token_class.from_string("31").value) == 0
    # `tokens` returns a copy, so clearing the copy has no effect on the ring.
    ring.tokens().clear()
    assert len(ring.tokens()) == 3


def test_the_position_of_a_key() -> None:
    """A key belongs to the owner of the next token on the ring.

    After the last token, the key belongs to the owner of the first token.
    """
    ring = SortedRing.of_owners(BytesToken, {b"m": 0, b"z": 1})
    positions = {b"a": 0, b"m": 0, b"n": 1, b"zz": 0}
    assert {key: ring.position_of(key) for key in positions} == positions


@pytest.mark.parametrize(
    ("token_class", "token", "expected"),
    [
        (Murmur3Token, -5, Murmur3Token(-5)),
        (Murmur3Token, Murmur3Token(-5), Murmur3Token(-5)),
        (Murmur3Token, -(1 << 63), Murmur3Token(-(1 << 63))),
        (Murmur3Token, (1 << 63) - 1, Murmur3Token((1 << 63) - 1)),
        (MD5Token, 0, MD5Token(0)),
        (MD5Token, 1 << 127, MD5Token(1 << 127)),
        (BytesToken, b"a", BytesToken(b"a")),
        (BytesToken, BytesToken(b"a"), BytesToken(b"a")),
    ],
)
def test_a_token_or_its_value_is_accepted(
    token_class: type[Token], token: object, expected: Token
) -> None:
    """`checked_token` accepts a token or the value of a token."""
    assert checked_token(token_class, token) == expected


@pytest.mark.parametrize(
    ("token_class", "token", "error", "message"),
    [
        (Murmur3Token, True, TypeError, "an int or a Murmur3Token, but is bool: True"),
        (Murmur3Token, "5", TypeError, "an int or a Murmur3Token, but is str: '5'"),
        (Murmur3Token, 5.0, TypeError, "an int or a Murmur3Token, but is float: 5.0"),
        (Murmur3Token, MD5Token(5), TypeError, "that is the cluster's partitioner, but is <MD5"),
        (Murmur3Token, 1 << 63, ValueError, "token=9223372036854775808 is not on the ring"),
        (Murmur3Token, -(1 << 63) - 1, ValueError, "is not on the ring"),
        (MD5Token, -1, ValueError, "its tokens are 0 to 17014118346046923173"),
        (MD5Token, (1 << 127) + 1, ValueError, "is not on the ring"),
        (BytesToken, 5, TypeError, "token must be bytes, but is int: 5"),
        (BytesToken, Murmur3Token(5), TypeError, "token must be a BytesToken"),
    ],
)
def test_other_tokens_are_refused(
    token_class: type[Token], token: object, error: type[Exception], message: str
) -> None:
    """`checked_token` refuses values and tokens of other classes."""
    with pytest.raises(error, match=message):
        checked_token(token_class, token)
