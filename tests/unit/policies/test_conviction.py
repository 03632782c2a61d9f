"""Conviction policies decide after how many connection failures a host is marked down."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.metadata.host import Host
from cassandra.policies.conviction import ConvictionPolicy, SimpleConvictionPolicy


def test_one_failure_is_enough_each_time() -> None:
    """With SimpleConvictionPolicy, each connection failure marks the host down."""
    host = Host("10.0.0.1", SimpleConvictionPolicy)
    policy = host.conviction_policy
    assert isinstance(policy, SimpleConvictionPolicy)
    assert policy.host is host
    for _ in range(2):
        assert policy.add_failure(OSError()) is True
    policy.reset()
    assert policy.add_failure(OSError()) is True


def test_an_application_s_policy_decides_for_its_host() -> None:
    """An application's policy may mark a host down after its third failure.

    Each host has its own policy, so the failures of two hosts are counted separately.
    """

    class ConvictsThirdFailure(ConvictionPolicy):
        failures = 0

        def add_failure(self, connection_exc: BaseException) -> bool:
            self.failures += 1
            return self.failures >= 3

        def reset(self) -> None:
            self.failures = 0

    first, other = Host("10.0.0.1", ConvictsThirdFailure), Host("10.0.0.2", ConvictsThirdFailure)
    assert [first.signal_connection_failure(OSError()) for _ in range(2)] == [False, False]
    assert other.signal_connection_failure(OSError()) is False
    # When a host is up again, its failures are counted from zero.
    first.set_up()
    assert [first.signal_connection_failure(OSError()) for _ in range(3)] == [False, False, True]


@pytest.mark.parametrize(("method", "arguments"), [("add_failure", (OSError(),)), ("reset", ())])
def test_the_base_class_is_abstract(method: str, arguments: Any) -> None:
    """The methods of the base class raise NotImplementedError."""
    policy = ConvictionPolicy(Host("10.0.0.1"))
    with pytest.raises(NotImplementedError):
        getattr(policy, method)(*arguments)
