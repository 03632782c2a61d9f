"""Tokens of all partitioners, and `SortedRing`, a token ring for any partitioner.

`cassandra.metadata.placement.ring` has the faster ring of the Murmur3Partitioner, which nearly all
clusters use.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import total_ordering
from operator import index
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra._imports import import_module
from cassandra.util.pickles import restore

if TYPE_CHECKING:
    from cassandra.metadata.placement import ring
else:
    from cassandra._impl import ring

T = TypeVar("T", bound="Token")

MIN_LONG = -(1 << 63)
MAX_LONG = (1 << 63) - 1


class NoMurmur3(Exception):
    """Never raised, because there is always an implementation of the hash.

    The class exists so that user code can still import and catch it.
    """


def _key_bytes(key: bytes | str) -> bytes:
    """Return the bytes of a key; a string stands for its UTF-8 bytes."""
    return key.encode() if isinstance(key, str) else key


@total_ordering
class Token:
    """A position on the ring. Tokens of one class are compared and ordered by `value`.

    :param token: the position, kept as `value`. Its type depends on the partitioner.
    """

    __slots__ = ("value",)

    __setstate__ = restore

    def __init__(self, token: object) -> None:
        self.value: Any = token

    @classmethod
    def hash_fn(cls, key: bytes | str) -> object:
        """Return the value of the token of a serialized partition key.

        :param key: the key's bytes, or a string; see `from_key`.
        """
        return key

    @classmethod
    def from_key(cls: type[T], key: bytes | str) -> T:
        """Return the token of a serialized partition key.

        :param key: the key's bytes. Except for `BytesToken`, a string stands for its UTF-8 bytes,
            which are the key of a single text column.
        """
        return cls(cls.hash_fn(key))

    @classmethod
    def from_string(cls: type[T], token_string: str) -> T:
        """Return the token from its string in the system tables.

        :param token_string: the string.
        """
        return cls(token_string)

    def __eq__(self, other: object) -> bool:
        # Tokens of different partitioners are not comparable, even if their values are equal.
        if type(self) is not type(other):
            return NotImplemented
        return bool(self.value == other.value)

    def __lt__(self, other: Token) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return bool(self.value < other.value)

    def __hash__(self) -> int:
        # Equal tokens have the same class and equal values, so they have the same hash.
        return hash(self.value)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.value}>"

    __str__ = __repr__


class HashToken(Token):
    """A token whose value is a number, the hash of the key."""

    __slots__ = ()

    @classmethod
    def from_string(cls: type[T], token_string: str) -> T:
        """Return the token from its string in the system tables, which has decimal digits."""
        return cls(int(token_string))


class Murmur3Token(HashToken):
    """A token of the Murmur3Partitioner.

    :param token: a number of 64 bits, or its decimal string.
    """

    __slots__ = ()

    def __init__(self, token: int | str) -> None:
        super().__init__(int(token))

    @classmethod
    def hash_fn(cls, key: bytes | str) -> int:
        return ring.token_of(_key_bytes(key))


class MD5Token(HashToken):
    """A token of the RandomPartitioner.

    :param token: a number from 0 to 2**127, or its decimal string.
    """

    __slots__ = ()

    def __init__(self, token: int | str) -> None:
        super().__init__(int(token))

    @classmethod
    def hash_fn(cls, key: bytes | str) -> int:
        # Import hashlib here, because few clusters have this partitioner. The flag says that MD5 is
        # not used for security: some builds of Python would refuse MD5 without it.
        digest = import_module("hashlib").md5(_key_bytes(key), usedforsecurity=False).digest()
        # The RandomPartitioner reads the digest as a signed number and takes its absolute value.
        return abs(int.from_bytes(digest, "big", signed=True))


class BytesToken(Token):
    """A token of the ByteOrderedPartitioner: the bytes of the key.

    :param token: the bytes of the key.
    :raises TypeError: if the token is not bytes.
    """

    __slots__ = ()

    def __init__(self, token: bytes) -> None:
        # Check the type here: a token with a str would only fail when it is compared.
        if not isinstance(token, bytes):
            raise TypeError(f"token must be bytes, but is {type(token).__name__}: {token!r}")
        super().__init__(token)

    @classmethod
    def from_string(cls: type[T], token_string: str | bytes) -> T:
        """Return the token from its string in the system tables.

        The string has hexadecimal digits, with or without ``0x``.
        """
        text = token_string.decode("ascii") if isinstance(token_string, bytes) else token_string
        try:
            return cls(bytes.fromhex(text[2:] if text[:2] in ("0x", "0X") else text))
        except ValueError:
            raise ValueError(
                f"a token of the ByteOrderedPartitioner is hexadecimal, but one is {text!r}"
            ) from None


# The class of the tokens, by the name of the partitioner without its Java package.
_BY_PARTITIONER: dict[str, type[Token]] = {
    "Murmur3Partitioner": Murmur3Token,
    "RandomPartitioner": MD5Token,
    "ByteOrderedPartitioner": BytesToken,
}


def token_class_of(partitioner: str | None) -> type[Token] | None:
    """Return the class of a partitioner's tokens, or None if the partitioner is not known.

    :param partitioner: the name of the partitioner, with or without its Java package.
    """
    return _BY_PARTITIONER.get((partitioner or "").rpartition(".")[2])


# The lowest and the highest value of a token, by token class.
_LIMITS: dict[type[Token], tuple[int, int]] = {
    Murmur3Token: (MIN_LONG, MAX_LONG),
    MD5Token: (0, 1 << 127),
}


def checked_token(token_class: type[Token], token: Any) -> Token:
    """Convert `token`, which is a `Token` or the value of a token, to a token of the ring.

    :param token_class: the token class of the ring.
    :param token: the token or value.
    :raises TypeError: if `token` belongs to another partitioner, or its value has another type.
    :raises ValueError: if the ring has no such token.
    """
    if isinstance(token, Token):
        if not isinstance(token, token_class):
            raise TypeError(
                f"token must be a {token_class.__name__}, for that is the cluster's partitioner, "
                f"but is {token}"
            )
        token = token.value
    limits = _LIMITS.get(token_class)
    if limits is None:
        return token_class(token)  # the constructor checks the value
    # Refuse a bool, which is an int in Python: True would be accepted as token 1.
    if isinstance(token, bool) or not hasattr(token, "__index__"):
        raise TypeError(
            f"token must be an int or a {token_class.__name__}, but is "
            f"{type(token).__name__}: {token!r}"
        )
    lowest, highest = limits
    if not lowest <= index(token) <= highest:
        raise ValueError(f"token={token} is not on the ring: its tokens are {lowest} to {highest}")
    return token_class(index(token))


class SortedRing:
    """The sorted tokens of any partitioner, each with the host that owns it.

    :param texts: for each host, its tokens as strings from the system tables.
    """

    __slots__ = ("_owners", "_token_class", "_values")

    def __init__(self, token_class: type[Token], texts: Sequence[Iterable[str]]) -> None:
        owner_of: dict[Any, int] = {}
        for host, tokens in enumerate(texts):
            for text in tokens:
                # If two hosts claim one token, the first host keeps it, as in `TokenRing`.
                owner_of.setdefault(token_class.from_string(text).value, host)
        self._take(token_class, owner_of)

    @classmethod
    def of_owners(cls, token_class: type[Token], owner_of: dict[Any, int]) -> SortedRing:
        """Return a ring built from token values, each with the number of the host that owns it."""
        ring = cls.__new__(cls)
        ring._take(token_class, owner_of)
        return ring

    def _take(self, token_class: type[Token], owner_of: dict[Any, int]) -> None:
        """Set the attributes; `owner_of` has the number of the host that owns each token."""
        self._token_class = token_class
        # Keep two parallel lists, so that bisect can compare values without a key function.
        self._values = sorted(owner_of)
        self._owners = [owner_of[value] for value in self._values]

    def position(self, token: Any) -> int:
        """Return the index of the first token whose value is not less than `token`.

        Past the last token the index is 0.
        """
        # Use bisect_left, because a node's range includes its token and excludes the previous
        # token.
        token_index = bisect_left(self._values, token)
        return token_index if token_index < len(self._values) else 0

    def position_of(self, key: bytes) -> int:
        """Return the position of a serialized partition key's token."""
        return self.position(self._token_class.hash_fn(key))

    def tokens(self) -> list[Any]:
        """Return the values of all tokens, in order."""
        # Return a copy, so that a caller cannot change the ring.
        return list(self._values)

    def owners(self) -> list[int]:
        """Return the host that owns each token, in the order of the tokens."""
        return list(self._owners)

    def __len__(self) -> int:
        return len(self._values)


for _class in (Token, HashToken, Murmur3Token, MD5Token, BytesToken, NoMurmur3):
    _class.__module__ = "cassandra.metadata"
del _class
