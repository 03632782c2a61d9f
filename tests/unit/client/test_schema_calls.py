"""Methods that refresh a part of the schema: each passes on the right target."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import UserAggregateDescriptor, UserFunctionDescriptor
from cassandra.client.schema_calls import SchemaCalls
from cassandra.engine.schema.targets import Target


class RecordingCalls(SchemaCalls[Any]):
    """Returns the arguments of `_refresh_schema` instead of refreshing."""

    def _refresh_schema(self, target: Target, max_schema_agreement_wait: float | None) -> Any:
        return target, max_schema_agreement_wait


@pytest.mark.parametrize(
    ("call", "arguments", "target"),
    [
        ("refresh_schema_metadata", (), Target()),
        ("refresh_keyspace_metadata", ("ks",), Target("KEYSPACE", "ks")),
        ("refresh_table_metadata", ("ks", "t"), Target("TABLE", "ks", "t")),
        ("refresh_materialized_view_metadata", ("ks", "v"), Target("TABLE", "ks", "v")),
        ("refresh_user_type_metadata", ("ks", "u"), Target("TYPE", "ks", "u")),
        ("refresh_user_function_metadata", ("ks", "f"), Target("FUNCTION", "ks", "f")),
        ("refresh_user_aggregate_metadata", ("ks", "g"), Target("AGGREGATE", "ks", "g")),
        (
            "refresh_user_function_metadata",
            ("ks", UserFunctionDescriptor("f", ["int"])),
            Target("FUNCTION", "ks", "f"),
        ),
        (
            "refresh_user_aggregate_metadata",
            ("ks", UserAggregateDescriptor("g", ["int"])),
            Target("AGGREGATE", "ks", "g"),
        ),
    ],
)
def test_each_method_refreshes_its_target(call: str, arguments: Any, target: Target) -> None:
    """Each method passes the right target to `_refresh_schema`.

    It also passes its last argument, `max_schema_agreement_wait` (seconds).
    """
    refresh = getattr(RecordingCalls(), call)
    assert refresh(*arguments) == (target, None)
    assert refresh(*arguments, 2.5) == (target, 2.5)
    assert refresh(*arguments, max_schema_agreement_wait=0) == (target, 0)
