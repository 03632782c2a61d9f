"""Tests of secret values, which no repr shows, and of attributes that have such values."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from cassandra._secrets import HiddenAttribute, Secret, SecretKey

WORD = "correct-horse"


def test_only_reveal_returns_the_value_of_a_secret() -> None:
    """No string form of a secret or of its slots may contain its value."""
    secret = Secret(WORD)
    assert secret.reveal() == WORD
    assert Secret.of(secret) is secret
    assert Secret.of(WORD).reveal() == WORD
    assert secret.kind == "str"
    slot_names = [name for base in Secret.__mro__ for name in vars(base).get("__slots__", ())]
    slot_values = [getattr(secret, name) for name in slot_names]
    for text in (repr(secret), str(secret), f"{secret}", repr([secret]), repr(slot_values)):
        assert WORD not in text


def test_a_secret_can_be_pickled_and_a_secret_key_cannot() -> None:
    secret = Secret(WORD)
    assert pickle.loads(pickle.dumps(secret)).reveal() == WORD
    assert copy.copy(secret) is secret
    assert copy.deepcopy(secret) is secret
    key = SecretKey(bytearray(b"k" * 32))
    assert key.size == 32
    assert key.reveal() == b"k" * 32
    assert repr(key) == "<secret key>"
    # A key that is not bytes has no size, and must not be revealed.
    assert (SecretKey("text").size, SecretKey("text").reveal()) == (-1, b"")
    for copy_or_pickle in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="a secret key cannot be pickled or copied"):
            copy_or_pickle(key)


class Holder:
    """A class with a hidden attribute without a default, and one with the default None."""

    password = HiddenAttribute[str]()
    options = HiddenAttribute[Any](None)


def test_hidden_attributes_can_be_read_set_and_copied() -> None:
    holder = Holder()
    assert (holder.options, Holder.options) == (None, None)
    for holder_or_class in (Holder, holder):
        with pytest.raises(AttributeError, match="'Holder' object has no attribute 'password'"):
            holder_or_class.password  # noqa: B018
    holder.password = WORD
    assert holder.password == WORD
    # The instance must have a Secret instead of the value.
    assert WORD not in repr(vars(holder))
    attribute = vars(Holder)["password"]
    assert attribute.secret_of(holder).reveal() == WORD
    assert attribute.secret_of(Holder()) is None
    assert copy.deepcopy(holder).password == WORD
    assert pickle.loads(pickle.dumps(holder)).password == WORD
