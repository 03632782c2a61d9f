"""The types that type checkers infer for results, with and without `row_type`.

Type checkers must accept this file; nothing runs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cassandra import aio
from cassandra.cluster import ResultSet, Session

if TYPE_CHECKING:
    from typing_extensions import assert_type


@dataclass
class User:
    """The class of the rows (`row_type`)."""

    id: int
    name: str


def blocking(session: Session) -> None:
    users = session.execute("SELECT id, name FROM users", row_type=User)
    assert_type(users, ResultSet[User])
    for user in users:
        assert_type(user, User)
    assert_type(users.all(), list[User])
    assert_type(users.one(), User | None)
    assert_type(users.one(strict=True), User | None)
    assert_type(users[0], User)
    assert_type(users[:2], list[User])
    rows = session.execute("SELECT id FROM users")
    assert_type(rows, ResultSet[Any])
    # Applications written for cassandra-driver use the row of `one` without checking it for None.
    # So if there is no `row_type`, its type is Any and not optional.
    assert_type(rows.one(), Any)
    print(rows.one().id, rows.one()["id"], rows[0].id)


async def asynchronous(session: aio.Session) -> None:
    users = await session.execute("SELECT id, name FROM users", row_type=User)
    assert_type(users, aio.ResultSet[User])
    async for user in users:
        assert_type(user, User)
    assert_type(await users.fetch_all(), list[User])
    assert_type(users.one(), User | None)
    rows = await session.execute("SELECT id FROM users")
    assert_type(rows.one(), Any)
    print(rows.one().id)


def names_without_arguments(results: ResultSet, answered: aio.ResultSet) -> None:
    """Applications that are checked strictly may name the classes without an argument."""
    assert_type(results, ResultSet[Any])
    assert_type(answered, aio.ResultSet[Any])
