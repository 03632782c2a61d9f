"""A server stops answering while a cluster connects: each step of connecting has a timeout.

The tests use virtual time. Each case runs with the blocking and the asyncio API.
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

TIMEOUT = 30.0  # the connect_timeout of these tests, in virtual seconds

Connect = Callable[..., NoHostAvailable]


@pytest.fixture(params=APIS)
def connect(request: pytest.FixtureRequest, simulated: Simulated, node: FakeNode) -> Connect:
    """Return a function that tries to connect, which must fail in time, and returns the error."""

    def fail_to_connect(**settings: Any) -> NoHostAvailable:
        settings = {"connect_timeout": TIMEOUT, **settings}
        started = simulated.now
        with pytest.raises(NoHostAvailable, match=node.endpoint) as caught:
            simulated.connect(request.param, contact_points=[node.address], **settings)
        # It may take longer than one timeout, because the driver may try again with an older
        # protocol version.
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
    """Return the error of the only host."""
    (error,) = failure.errors.values()
    assert isinstance(error, Exception)
    return error


def test_a_server_that_accepts_but_does_not_answer_times_out(
    connect: Connect, node: FakeNode
) -> None:
    """`connect_timeout` also limits the wait for the first answer on an open connection."""
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
    """The time limit includes the TLS handshake, which the message names as the step that hangs."""
    node.accept_but_hang()
    failure = connect(ssl_context=ssl.create_default_context())
    assert isinstance(only_error(failure), OperationTimedOut)
    assert "did not complete the TLS handshake" in str(failure)


def test_with_tls_a_server_that_does_not_speak_it_times_out(
    connect: Connect, authority: Authority
) -> None:
    """The node takes the bytes of the TLS handshake for the beginning of a frame, and waits for the
    rest.
    """
    failure = connect(ssl_context=authority.client())
    assert "does this port not speak TLS" in str(failure)


@pytest.mark.parametrize("opcode", [Opcode.OPTIONS, Opcode.STARTUP, Opcode.REGISTER])
def test_a_server_that_stops_answering_times_out(
    connect: Connect, node: FakeNode, opcode: Opcode
) -> None:
    """A message of the handshake that is never answered fails `connect` with a time-out."""
    node.prime(opcode, silence())
    error = only_error(connect(control_connection_timeout=TIMEOUT))
    assert isinstance(error, (OperationTimedOut, asyncio.TimeoutError))
    assert str(error)


def test_a_server_that_does_not_answer_system_queries_times_out(
    connect: Connect, node: FakeNode
) -> None:
    """`control_connection_timeout` limits the queries of system tables. The message names the
    query.
    """
    node.prime(Opcode.QUERY, silence())
    failure = connect(control_connection_timeout=TIMEOUT)
    assert isinstance(only_error(failure), OperationTimedOut)
    assert "system." in str(failure)


def test_a_network_that_drops_packets_times_out(
    connect: Connect, node: FakeNode, simulated: Simulated
) -> None:
    """`connect_timeout` limits the opening of a TCP connection."""
    # The first packet (SYN) gets no answer. A kernel would give up only after two minutes.
    simulated.network.drop_syns(node.address)
    assert isinstance(only_error(connect()), OperationTimedOut)
