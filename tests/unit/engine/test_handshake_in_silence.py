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

TIMEOUT = 30.0  # virtual seconds

Connect = Callable[..., NoHostAvailable]


@pytest.fixture(params=APIS)
def connect(request: pytest.FixtureRequest, simulated: Simulated, node: FakeNode) -> Connect:
    """Return a function that tries to connect, which must fail in time, and returns the error."""

    def connect_in_vain(**settings: Any) -> NoHostAvailable:
        settings = {"connect_timeout": TIMEOUT, **settings}
        began = simulated.now
        with pytest.raises(NoHostAvailable, match=node.endpoint) as caught:
            simulated.connect(request.param, contact_points=[node.address], **settings)
        # It may take longer than one timeout, because the driver may try again with an older
        # protocol version.
        assert TIMEOUT <= simulated.now - began < 3 * TIMEOUT
        # The driver has closed its end of every connection.
        assert all(link.ends[0].is_over for link in simulated.network.links)
        return caught.value

    return connect_in_vain


@pytest.fixture
def node(simulated: Simulated) -> Iterator[FakeNode]:
    with simulated.node(port=9042) as node:
        yield node


def only_error(raised: NoHostAvailable) -> Exception:
    (error,) = raised.errors.values()
    assert isinstance(error, Exception)
    return error


def test_a_server_that_accepts_but_does_not_answer_times_out(
    connect: Connect, node: FakeNode
) -> None:
    node.accept_but_hang()
    raised = connect()
    assert isinstance(only_error(raised), OperationTimedOut)
    message = str(raised)
    assert f"{node.endpoint} accepted" in message
    assert "said nothing" in message
    assert f"timeout={TIMEOUT}s" in message


def test_a_server_that_does_not_answer_the_tls_handshake_times_out(
    connect: Connect, node: FakeNode
) -> None:
    node.accept_but_hang()
    raised = connect(ssl_context=ssl.create_default_context())
    assert isinstance(only_error(raised), OperationTimedOut)
    assert "did not complete the TLS handshake" in str(raised)


def test_a_server_without_tls(connect: Connect, authority: Authority) -> None:
    # The node speaks no TLS. It takes the bytes of the handshake for the beginning of a frame, and
    # waits for the rest.
    raised = connect(ssl_context=authority.client())
    assert "does this port not speak TLS" in str(raised)


@pytest.mark.parametrize("opcode", [Opcode.OPTIONS, Opcode.STARTUP, Opcode.REGISTER])
def test_a_server_that_stops_answering_times_out(
    connect: Connect, node: FakeNode, opcode: Opcode
) -> None:
    node.prime(opcode, silence())
    error = only_error(connect(control_connection_timeout=TIMEOUT))
    assert isinstance(error, (OperationTimedOut, asyncio.TimeoutError))
    assert str(error)


def test_a_server_that_does_not_answer_system_queries_times_out(
    connect: Connect, node: FakeNode
) -> None:
    node.prime(Opcode.QUERY, silence())
    raised = connect(control_connection_timeout=TIMEOUT)
    assert isinstance(only_error(raised), OperationTimedOut)
    assert "system." in str(raised)


def test_a_network_that_drops_packets_times_out(
    connect: Connect, node: FakeNode, simulated: Simulated
) -> None:
    # The first packet (SYN) gets no answer. A kernel would give up only after two minutes.
    simulated.network.drop_syns(node.address)
    assert isinstance(only_error(connect()), OperationTimedOut)
