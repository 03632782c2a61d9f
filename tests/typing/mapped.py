"""The types that type checkers infer for the columns of models with ``Mapped`` annotations.

Type checkers must accept this file; nothing runs it.
"""

from __future__ import annotations

import datetime
import uuid
from typing import TYPE_CHECKING, Any

from cassandra.cqlengine import columns
from cassandra.cqlengine.columns import Mapped
from cassandra.cqlengine.models import ColumnQueryEvaluator, Model
from cassandra.cqlengine.query import ModelQuerySet
from cassandra.cqlengine.usertype import UserType

if TYPE_CHECKING:
    from typing_extensions import assert_type


class Place(UserType):
    street: Mapped[str | None]


class User(Model):
    id: Mapped[uuid.UUID] = columns.UUID(primary_key=True, default=uuid.uuid4)
    name: Mapped[str]
    nick: Mapped[str | None] = columns.Text(index=True)
    born: Mapped[datetime.date | None]
    tags: Mapped[set[str]]
    marks: Mapped[dict[str, list[int]]] = columns.Map(columns.Text, columns.List(columns.Integer))
    home: Mapped[Place | None]
    near = columns.Vector(columns.Float, 3, index=True)


def blocking() -> None:
    assert_type(User.id, ColumnQueryEvaluator)
    user = User.create(name="x")
    assert_type(user, User)
    assert_type(user.id, uuid.UUID)
    assert_type(user.name, str)
    assert_type(user.nick, str | None)
    assert_type(user.born, datetime.date | None)
    assert_type(user.tags, set[str])
    assert_type(user.marks, dict[str, list[int]])
    assert_type(user.home.street if user.home else None, str | None)
    user.name, user.nick = "y", None
    assert_type(User.objects.filter(User.name == "x", User.born > 5), ModelQuerySet[User])
    assert_type(User.objects.order_by(User.near.ann_of([1.0, 2.0, 3.0])), ModelQuerySet[User])
    assert_type(User.objects.create_many([{"name": "x"}, User(name="y")]), list[User])
    for person in User.objects.limit(3):
        assert_type(person.name, str)


async def asynchronous(rows: list[dict[str, Any]]) -> None:
    assert_type(await User.objects.acreate_many(rows), list[User])
    assert_type((await User.aget(name="x")).name, str)
    async for person in User.objects:
        assert_type(person.nick, str | None)


def wrong(user: User) -> None:
    # mypy and pyright must report each of these lines. mypy also reports an ignore that is not
    # needed.
    user.name = None  # type: ignore[assignment]
    user.id = "x"  # type: ignore[assignment]
