"""Test `QueryParams`, a request's parameters, and `params_of`, which reads them from a message."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.consistency import ConsistencyLevel
from cassandra.errors import UnsupportedOperation
from cassandra.protocol.messages.requests import ExecuteMessage, QueryMessage
from cassandra.protocol.params import QueryParams, params_of


def test_options_that_are_not_set_are_left_out() -> None:
    """Options that are not set are None, except `skip_metadata`, which is False."""
    params = QueryParams(ConsistencyLevel.QUORUM)
    value_by_name = {name: getattr(params, name) for name in QueryParams.__slots__}
    assert value_by_name.pop("consistency") == ConsistencyLevel.QUORUM
    assert value_by_name.pop("skip_metadata") is False
    assert set(value_by_name.values()) == {None}


@pytest.mark.parametrize("message_class", [QueryMessage, ExecuteMessage])
def test_parameters_of_a_message(message_class: Any) -> None:
    """`params_of` returns each attribute of a message as a parameter of the request.

    Continuous paging, a feature of DSE, is refused.
    """
    query_or_id: Any = "SELECT 1" if message_class is QueryMessage else b"id"
    message = message_class(query_or_id, [b"x"], ConsistencyLevel.QUORUM)
    # The numbers are all different, so each shows which attribute its parameter comes from.
    message.consistency_level = 5
    message.fetch_size = 6
    message.serial_consistency_level = 7
    message.timestamp = 8
    message.now_in_seconds = 9
    message.query_params = [b"y"]
    message.skip_meta = True
    message.paging_state = b"state"
    message.keyspace = "ks"
    params = params_of(message)
    assert params.consistency == 5
    assert params.page_size == 6
    assert params.serial_consistency == 7
    assert params.timestamp == 8
    assert params.now_in_seconds == 9
    assert params.values == [b"y"]
    assert params.value_names is None
    assert params.skip_metadata
    assert params.paging_state == b"state"
    assert params.keyspace == "ks"
    message.continuous_paging_options = object()
    with pytest.raises(UnsupportedOperation, match="continuous paging belongs to the DSE protocol"):
        params_of(message)
