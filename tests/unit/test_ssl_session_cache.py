"""Tests of the cache of TLS sessions, which keeps them as long as they can be resumed."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import ssl_session_cache
from cassandra.ssl_session_cache import SSLSessionCache
from tests.unit.security.certificates import Authority

CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
OTHER = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def session(age: float = 0.0, timeout: float = 100.0) -> Any:
    """Return a TLS session of this age that can be resumed for `timeout`, both in seconds."""
    return SimpleNamespace(time=time.time() - age, timeout=timeout)


def test_a_session_is_returned_for_its_context_until_it_expires() -> None:
    cache = SSLSessionCache()
    fresh_session = session()
    cache.put("a", CONTEXT, fresh_session)
    assert cache.get("a", CONTEXT) is fresh_session
    assert cache.get("b", CONTEXT) is None
    assert cache.get("a", OTHER) is None
    # The session belongs to another context, so the cache must have dropped it.
    assert len(cache) == 0
    # The session is older than its timeout.
    cache.put("a", CONTEXT, session(age=101))
    assert cache.get("a", CONTEXT) is None
    assert len(cache) == 0


def test_a_session_is_fresh_during_the_first_half_of_its_lifetime() -> None:
    """Sessions have a lifetime of 100 s here, so one is fresh at 40 s, but not at 60 s."""
    cache = SSLSessionCache()
    assert not cache.is_fresh("a")
    cache.put("a", CONTEXT, session(age=40))
    assert cache.is_fresh("a")
    cache.put("a", CONTEXT, session(age=60))
    assert not cache.is_fresh("a")


def test_a_full_cache_drops_the_least_recently_used_session() -> None:
    cache = SSLSessionCache(2)
    for key in "ab":
        cache.put(key, CONTEXT, session())
    # "a" was now used later than "b".
    cache.get("a", CONTEXT)
    cache.put("c", CONTEXT, session())
    assert [cache.get(key, CONTEXT) is not None for key in "abc"] == [True, False, True]
    cache.put("a", CONTEXT, session())
    cache.put("d", CONTEXT, session())
    assert [cache.get(key, CONTEXT) is not None for key in "acd"] == [True, False, True]


def test_a_peer_whose_sessions_fail_repeatedly_gets_no_further_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A session that several connections have offered fails once.

    The server may have been paused, so failures of long ago do not count.
    """
    now = [1000.0]
    monkeypatch.setattr(ssl_session_cache, "monotonic", lambda: now[0])
    cache = SSLSessionCache()
    first, second, third = session(), session(), session()
    cache.put("a", CONTEXT, first)
    cache.note_failure("a", first)
    cache.put("a", CONTEXT, second)
    cache.note_failure("a", first)  # another connection that has offered the same session
    assert len(cache) == 1
    cache.note_success("a")
    cache.note_failure("a", second)
    cache.put("a", CONTEXT, third)
    cache.note_failure("a", third)
    for key in "ab":
        cache.put(key, CONTEXT, session())
    assert cache.get("a", CONTEXT) is None
    assert cache.get("b", CONTEXT) is not None
    now[0] += ssl_session_cache._FAILURES_COUNT_FOR
    cache.put("a", CONTEXT, second)
    cache.note_failure("a", second)
    cache.put("a", CONTEXT, third)
    assert cache.get("a", CONTEXT) is not None
    cache.note_failure("a", third)
    cache.put("a", CONTEXT, first)
    assert cache.get("a", CONTEXT) is None
    cache.clear()
    cache.put("a", CONTEXT, first)
    assert cache.get("a", CONTEXT) is first


def test_the_failures_of_few_peers_are_remembered() -> None:
    cache = SSLSessionCache(2)
    for key in "abc":
        held = session()
        cache.put(key, CONTEXT, held)
        cache.note_failure(key, held)
    assert list(cache._failures) == ["b", "c"]


def set_verify_mode(context: ssl.SSLContext) -> None:
    context.verify_mode = ssl.CERT_REQUIRED


def set_check_hostname(context: ssl.SSLContext) -> None:
    context.check_hostname = True


def set_verify_flags(context: ssl.SSLContext) -> None:
    context.verify_flags |= ssl.VERIFY_X509_STRICT


def set_options(context: ssl.SSLContext) -> None:
    context.options |= ssl.OP_NO_TICKET


def set_version(context: ssl.SSLContext) -> None:
    context.minimum_version = ssl.TLSVersion.TLSv1_3


@pytest.mark.parametrize(
    "change", [set_verify_mode, set_check_hostname, set_verify_flags, set_options, set_version]
)
def test_a_session_from_before_a_change_of_its_context_is_dropped(
    change: Callable[[ssl.SSLContext], None],
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.verify_flags = ssl.VerifyFlags(0)
    cache = SSLSessionCache()
    cache.put("a", context, session())
    assert cache.get("a", context) is not None
    change(context)
    assert cache.get("a", context) is None
    assert len(cache) == 0


def test_a_session_from_before_a_change_of_the_trusted_certificates_is_dropped(
    tmp_path: Path,
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    cache = SSLSessionCache()
    cache.put("a", context, session())
    context.load_verify_locations(Authority(tmp_path).path)
    assert cache.get("a", context) is None


def test_a_session_is_not_stored_if_the_state_changed_during_the_handshake() -> None:
    """The state changes if the context is changed, and if the sessions are dropped."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    cache = SSLSessionCache()
    state_before = cache.state_of(context)
    cache.clear()
    cache.put("a", context, session(), state_before)
    assert cache.get("a", context) is None
    state_before = cache.state_of(context)
    context.check_hostname = False
    cache.put("a", context, session(), state_before)
    assert cache.get("a", context) is None
    cache.put("a", context, session(), cache.state_of(context))
    assert cache.get("a", context) is not None


def test_the_session_of_one_peer_can_be_dropped() -> None:
    cache = SSLSessionCache()
    for key in "ab":
        cache.put(key, CONTEXT, session())
    for _ in range(2):
        cache.drop("a")
        assert [cache.get(key, CONTEXT) is not None for key in "ab"] == [False, True]


def test_sessions_with_client_certificates_are_a_choice() -> None:
    assert not SSLSessionCache().with_client_certificates
    assert SSLSessionCache(with_client_certificates=True).with_client_certificates
    wrong: Any = "yes"
    with pytest.raises(TypeError, match="with_client_certificates must be True or False"):
        SSLSessionCache(with_client_certificates=wrong)


def test_an_empty_cache_is_true() -> None:
    cache = SSLSessionCache(5)
    assert bool(cache)
    cache.put("a", CONTEXT, session())
    assert repr(cache) == "<SSLSessionCache: 1 of at most 5 sessions>"
    cache.clear()
    assert len(cache) == 0


@pytest.mark.parametrize(("size", "error"), [(0, ValueError), (True, TypeError), ("5", TypeError)])
def test_sizes(size: Any, error: type[Exception]) -> None:
    """The size of the cache must be a positive integer."""
    with pytest.raises(error, match="max_size"):
        SSLSessionCache(size)
