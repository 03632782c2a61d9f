"""`CallOptions`, which has the profile of a call and the call's other options."""

from __future__ import annotations

from typing import Any

from cassandra.bases import CallBase
from cassandra.engine.call_options import CallOptions
from cassandra.query.settings import NOT_SET


def test_options_have_defaults() -> None:
    """Options that a call does not set have these defaults.

    For the timeout, NOT_SET means that the profile's timeout applies.
    """
    profile: Any = object()
    options = CallOptions(profile)
    values = {name: getattr(options, name) for name in CallBase.__slots__}
    assert values == {
        "custom_payload": None,
        "paging_state": None,
        "profile": profile,
        "target": None,
        "timeout": NOT_SET,
        "trace": False,
    }
