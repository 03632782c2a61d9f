"""Servers that fall silent while a cluster connects: each step has a timeout, in virtual time.

Each case runs on the blocking and on the asyncio API.
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
    """Return a function that connects, must fail in time, and returns the error."""

    def run(**settings: Any) -> NoHostAvailable:
        settings = {"connect_timeout": TIMEOUT, **settings}
        began = simulated.now
        with pytest.raises(NoHostAvailable, match=node.endpoint) as caught:
            simulated.connect(request.param, contact_points=[node.address], **settings)
        # The driver may try an older version of the protocol after the first.
        assert TIMEOUT <= simulated.now - began < 3 * TIMEOUT
        assert all(link.ends[0].is_over for link in simulated.network.links)
        return caught.value

    return run


@pytest.fixture
def node(simulated: Simulated) -> Iterator[FakeNode]:
    with simulated.node(port=9042) as node:
        yield node


def only_error(raised: NoHostAvailable) -> Exception:
    (error,) = raised.errors.values()
    assert isinstance(error, Exception)
    return error


def test_a_server_that_accepts_and_says_nothing(connect: Connect, node: FakeNode) -> None:
    node.accept_but_hang()
    raised = connect()
    assert isinstance(only_error(raised), OperationTimedOut)
    message = str(raised)
    assert f"{node.endpoint} accepted" in message
    assert "said nothing" in message
    assert f"timeout={TIMEOUT}s" in message


def test_a_server_that_says_nothing_to_a_tls_client(connect: Connect, node: FakeNode) -> None:
    node.accept_but_hang()
    raised = connect(ssl_context=ssl.create_default_context())
    assert isinstance(only_error(raised), OperationTimedOut)
    assert "did not complete the TLS handshake" in str(raised)


def test_a_server_without_tls(connect: Connect, authority: Authority) -> None:
    # The bytes look like the beginning of a frame, so the node waits for the rest.
    raised = connect(ssl_context=authority.client())
    assert "does it expect TLS on this port" in str(raised)


@pytest.mark.parametrize("opcode", [Opcode.OPTIONS, Opcode.STARTUP, Opcode.REGISTER])
def test_a_server_that_falls_silent(connect: Connect, node: FakeNode, opcode: Opcode) -> None:
    node.prime(opcode, silence())
    error = only_error(connect(control_connection_timeout=TIMEOUT))
    assert isinstance(error, (OperationTimedOut, asyncio.TimeoutError))
    assert str(error)


def test_a_server_whose_system_tables_do_not_answer(connect: Connect, node: FakeNode) -> None:
    node.prime(Opcode.QUERY, silence())
    raised = connect(control_connection_timeout=TIMEOUT)
    assert isinstance(only_error(raised), OperationTimedOut)
    assert "system." in str(raised)


def test_a_network_that_drops_what_is_sent(
    connect: Connect, node: FakeNode, simulated: Simulated
) -> None:
    # The SYN gets no answer; a kernel would give up after two minutes.
    simulated.network.drop_syns(node.address)
    assert isinstance(only_error(connect()), OperationTimedOut)
