"""Tests of servers that stop answering while a cluster connects.

The tests use virtual time. Each test runs with the blocking and the asyncio API.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra.errors import NoHostAvailable, OperationTimedOut
from cassandra.testing.fake import FakeNode, Opcode, silence
from tests.unit.security.certificates import Authority
from tests.unit.simulated import APIS, Simulated

TIMEOUT = 30.0  # virtual seconds; the `connect_timeout` of these tests

Connect = Callable[..., NoHostAvailable]


@pytest.fixture(params=APIS)
def connect(request: pytest.FixtureRequest, simulated: Simulated, node: FakeNode) -> Connect:
    """Return a function that tries to connect, which must fail in time, and returns the error."""

    def fail_to_connect(**settings: Any) -> NoHostAvailable:
        settings = {"connect_timeout": TIMEOUT, **settings}
        started = simulated.now
        with pytest.raises(NoHostAvailable, match=node.endpoint) as caught:
            simulated.connect(request.param, contact_points=[node.address], **settings)
        # Connecting may take longer than one timeout, because the driver may try again with an
        # older protocol version.
        assert TIMEOUT <= simulated.now - started < 3 * TIMEOUT
        # The driver has closed its end of every connection.
        assert all(link.ends[0].is_over for link in simulated.network.links)
        return caught.value

    return fail_to_connect


@pytest.fixture
def node(simulated: Simulated) -> Iterator[FakeNode]:
    with simulated.node(port=9042) as node:
        yield node


def only_error(failure: NoHostAvailable) -> Exception:
    """Return the error of the only host of a NoHostAvailable."""
    (error,) = failure.errors.values()
    assert isinstance(error, Exception)
    return error


def test_a_server_that_accepts_but_does_not_answer_times_out(
    connect: Connect, node: FakeNode
) -> None:
    """If a server accepts a connection but never responds, `connect` fails.

    It fails after `connect_timeout`.
    """
    node.accept_but_hang()
    failure = connect()
    assert isinstance(only_error(failure), OperationTimedOut)
    message = str(failure)
    assert f"{node.endpoint} accepted" in message
    assert "said nothing" in message
    assert f"timeout={TIMEOUT}s" in message


def test_a_server_that_does_not_answer_the_tls_handshake_times_out(
    connect: Connect, node: FakeNode
) -> None:
    """If a server never responds to the TLS handshake, `connect` fails after `connect_timeout`.

    The message names the TLS handshake.
    """
    node.accept_but_hang()
    failure = connect(ssl_context=ssl.create_default_context())
    assert isinstance(only_error(failure), OperationTimedOut)
    assert "did not complete the TLS handshake" in str(failure)


def test_with_tls_a_server_that_does_not_speak_it_times_out(
    connect: Connect, authority: Authority
) -> None:
    """If a server without TLS gets a TLS handshake, `connect` fails, and the message suggests TLS.

    The server reads the handshake as the start of a frame, and waits for the rest of this frame.
    """
    failure = connect(ssl_context=authority.client())
    assert "does this port not speak TLS" in str(failure)


@pytest.mark.parametrize("opcode", [Opcode.OPTIONS, Opcode.STARTUP, Opcode.REGISTER])
def test_a_server_that_stops_answering_times_out(
    connect: Connect, node: FakeNode, opcode: Opcode
) -> None:
    """If a server does not respond to one of the handshake's messages, `connect` times out."""
    node.prime(opcode, silence())
    error = only_error(connect(control_connection_timeout=TIMEOUT))
    assert isinstance(error, (OperationTimedOut, asyncio.TimeoutError))
    assert str(error)


def test_a_server_that_does_not_answer_system_queries_times_out(
    connect: Connect, node: FakeNode
) -> None:
    """If a server does not respond to queries of system tables, `connect` times out.

    The limit is `control_connection_timeout`, and the message names the query.
    """
    node.prime(Opcode.QUERY, silence())
    failure = connect(control_connection_timeout=TIMEOUT)
    assert isinstance(only_error(failure), OperationTimedOut)
    assert "system." in str(failure)


def test_a_network_that_drops_packets_times_out(
    connect: Connect, node: FakeNode, simulated: Simulated
) -> None:
    """If the network drops packets, `connect` fails after `connect_timeout`."""
    # The first packet (SYN) is not answered. A kernel would give up only after two minutes.
    simulated.network.drop_syns(node.address)
    assert isinstance(only_error(connect()), OperationTimedOut)
