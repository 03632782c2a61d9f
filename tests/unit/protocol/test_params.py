"""The parameters of a request come from its message."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.errors import UnsupportedOperation
from cassandra.protocol.messages.requests import ExecuteMessage, QueryMessage
from cassandra.protocol.params import QueryParams, params_of


def test_options_that_are_not_set_are_left_out() -> None:
    params = QueryParams(4)
    named = {name: getattr(params, name) for name in QueryParams.__slots__}
    assert named.pop("consistency") == 4
    assert named.pop("skip_metadata") is False
    assert set(named.values()) == {None}


@pytest.mark.parametrize("cls", [QueryMessage, ExecuteMessage])
def test_parameters_of_a_message(cls: Any) -> None:
    """Each attribute of a message becomes a parameter of the request. Continuous paging is
    refused.
    """
    message = cls("SELECT 1" if cls is QueryMessage else b"id", [b"x"], 4)
    # The numbers are all different, so that they show which attribute each parameter comes from.
    for number, name in enumerate(
        ("consistency_level", "fetch_size", "serial_consistency_level", "timestamp"), 5
    ):
        setattr(message, name, number)
    message.query_params, message.skip_meta, message.paging_state = [b"y"], True, b"state"
    message.keyspace, message.now_in_seconds = "ks", 9
    params = params_of(message)
    assert (params.consistency, params.page_size) == (5, 6)
    assert (params.serial_consistency, params.timestamp) == (7, 8)
    assert (params.values, params.value_names, params.skip_metadata) == ([b"y"], None, True)
    assert (params.paging_state, params.keyspace, params.now_in_seconds) == (b"state", "ks", 9)
    message.continuous_paging_options = object()
    with pytest.raises(UnsupportedOperation, match="continuous paging belongs to the DSE protocol"):
        params_of(message)
