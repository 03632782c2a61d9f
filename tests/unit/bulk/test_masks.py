"""Copies and unloads warn if they read the masks of columns in place of their values."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cassandra import aio
from cassandra._steps import drive
from cassandra.auth import AuthProvider, PlainTextAuthenticator, PlainTextAuthProvider
from cassandra.bulk.copy import acopy, copy
from cassandra.bulk.masks import mask_steps
from cassandra.bulk.scan_plan import performer
from cassandra.cluster import Cluster
from cassandra.testing.fake import Answer, ErrorCode, FakeNode, error, rows, void
from tests.unit.bulk.test_scan import COLUMNS, QUERY
from tests.unit.metadata.schema.rows import column, schema

# The queries for the permissions of a role, for its roles, and for the permissions of everyone.
OF_ALL = "LIST UNMASK PERMISSION ON TABLE a.t0"
OF_ADA = f"{OF_ALL} OF 'Ada'"
ROLES = "LIST ROLES OF 'Ada'"
PERMISSIONS = [("role", "text"), ("username", "text"), ("resource", "text"), ("permission", "text")]
GRANTED = rows(PERMISSIONS, [("Ada", "Ada", "<table a.t0>", "UNMASK")])
USER, SUPERUSER = (
    rows([("role", "text"), ("super", "boolean")], [("Ada", False), ("sup", is_super)])
    for is_super in (False, True)
)
ANONYMOUS = error(ErrorCode.UNAUTHORIZED, "You have to be logged in and not anonymous")
REFUSED = error(ErrorCode.UNAUTHORIZED, "You are not authorized to view everyone's permissions")
UNSUPPORTED = error(ErrorCode.INVALID, "operation is not supported by AllowAllAuthorizer")


def masking_node(*names: str) -> FakeNode:
    """Return a node with the tables a.t0 and a.t1.

    :param names: the columns of a.t0 that have masks. The tables have them beside "id" and "c0".
    """
    node = FakeNode(username="Ada", password="secret")
    node.schema = schema("a")
    node.schema["system_schema.columns"] += [
        column("a", table, name) for table in ("t0", "t1") for name in names if name != "c0"
    ]
    node.schema["system_schema.column_masks"] = [
        {
            "keyspace_name": "a",
            "table_name": "t0",
            "column_name": name,
            "function_keyspace": "system",
            "function_name": "mask_default",
        }
        for name in names
    ]
    return node


def messages_of(call: Callable[[], object]) -> list[str]:
    """Return the messages of the RuntimeWarnings of a call."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    return [str(warning.message) for warning in seen if warning.category is RuntimeWarning]


def outcome(answers: dict[str, Answer], columns: Any = None) -> tuple[list[str], list[str]]:
    """Let the role "Ada" read a.t0 with the masked columns "c0" and "Total".

    :param answers: the answers of the node, by query.
    :param columns: the columns to read.
    :returns: the queries of permissions, and the warnings.
    """
    with masking_node("c0", "Total") as node:
        for query, answer in answers.items():
            node.prime(query, answer)
        provider = PlainTextAuthProvider("Ada", "secret")
        with Cluster([node.address], port=node.port, auth_provider=provider) as cluster:
            session = cluster.connect()
            steps = mask_steps(session, "a.t0", columns, "the unload")
            messages = messages_of(lambda: drive(steps, performer(session)))
        queries = [request.query or "" for request in node.requests]
    return [query for query in queries if query.startswith("LIST")], messages


@pytest.mark.parametrize(
    ("answers", "is_warned"),
    [
        ({OF_ADA: GRANTED}, False),
        ({OF_ADA: void(), ROLES: SUPERUSER}, False),
        ({OF_ADA: void(), ROLES: USER}, True),
        # A server without authorization, or without authentication.
        ({OF_ADA: UNSUPPORTED, OF_ALL: UNSUPPORTED}, False),
        ({OF_ADA: ANONYMOUS}, False),
    ],
    ids=["granted", "superuser", "not granted", "no permissions", "no login"],
)
def test_roles_that_read_masks_are_warned(answers: dict[str, Answer], is_warned: bool) -> None:
    """There is a warning if the role lacks the permission to read the values of masked columns."""
    queries, messages = outcome(answers)
    assert queries == list(answers)
    assert messages == is_warned * [
        "columns 'c0', 'Total' of a.t0 have masks, and the role 'Ada' lacks the permission UNMASK, "
        'so the unload has masks in place of values. Write GRANT UNMASK ON TABLE a.t0 TO "Ada", '
        "or name other columns by columns="
    ]


@pytest.mark.parametrize(
    "answers",
    [{OF_ADA: REFUSED}, {OF_ADA: UNSUPPORTED, OF_ALL: REFUSED}, {OF_ADA: void(), ROLES: void()}],
)
def test_a_server_that_does_not_tell(answers: dict[str, Answer]) -> None:
    """There is also a warning if the server does not tell whether the role has the permission."""
    _, (message,) = outcome(answers)
    assert "the role 'Ada' may lack UNMASK: then the unload has masks" in message


@pytest.mark.parametrize(
    ("columns", "masked"),
    [
        (["id"], None),
        ("id, total", None),
        (["id", "Total"], "column 'Total' of a.t0 has a mask"),
        ('id, "Total"', "column 'Total' of a.t0 has a mask"),
        ("id, C0 + 1 AS x", "column 'c0' of a.t0 has a mask"),
        ("*", "columns 'c0', 'Total' of a.t0 have masks"),
    ],
)
def test_only_masked_columns_that_are_read_count(columns: Any, masked: str | None) -> None:
    """Without masked columns, the server is not asked for permissions, and there is no warning."""
    queries, messages = outcome({OF_ADA: void(), ROLES: USER}, columns)
    assert queries == ([] if masked is None else [OF_ADA, ROLES])
    assert [message.partition(", and ")[0] for message in messages] == ([masked] if masked else [])


class OwnProvider(AuthProvider):
    """An application's provider, of which the name of the role is not known."""

    def new_authenticator(self, host: str) -> Any:
        return PlainTextAuthenticator("Ada", "secret")


def test_copies_and_unloads_warn_on_both_apis(tmp_path: Path) -> None:
    """Copies and unloads warn once each, with blocking sessions and on asyncio.

    If the name of the role is unknown, only superusers are known to read values: only they may list
    the permissions of everyone.
    """

    def work() -> None:
        with Cluster(**settings) as cluster:
            session = cluster.connect()
            copy(session, "a.t0", session, "a.t1")
            session.unload("a.t0", next(folders), format="csv")

    async def awork() -> None:
        async with aio.Cluster(**settings) as cluster:
            session = await cluster.connect()
            await acopy(session, "a.t0", session, "a.t1")
            await session.unload("a.t0", next(folders), format="csv")

    folders = (tmp_path / str(number) for number in range(9))
    with masking_node("c0") as node:
        settings: dict[str, Any] = {
            "contact_points": [node.address], "port": node.port, "auth_provider": OwnProvider(),
        }  # fmt: skip
        for query in (QUERY, QUERY.replace('"id", "c0"', "id, c0")):
            prepared = node.prime_prepare(query, [("a", "bigint"), ("b", "bigint")], COLUMNS)
            prepared.keyspace, prepared.table = "a", "t0"
            node.prime(query, rows(COLUMNS))
        for run in (work, lambda: asyncio.run(awork())):
            node.prime(OF_ALL, void())
            assert messages_of(run) == []
            node.prime(OF_ALL, REFUSED)
            assert messages_of(run) == [
                "column 'c0' of a.t0 has a mask, and the role of this session may lack UNMASK: "
                f"then {name} has masks in place of values. Write GRANT UNMASK ON TABLE a.t0 TO "
                "this role, or name other columns by columns="
                for name in ("the copy", "the unload")
            ]
