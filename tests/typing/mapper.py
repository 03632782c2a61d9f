"""The types that type checkers infer for models whose columns have no annotations.

Type checkers must accept this file; nothing runs it.
"""

from __future__ import annotations

import datetime
import uuid
from typing import TYPE_CHECKING

from cassandra.cqlengine import columns
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import ModelQuerySet
from cassandra.cqlengine.usertype import UserType

if TYPE_CHECKING:
    from typing_extensions import assert_type


class Address(UserType):
    street = columns.Text()


class Person(Model):
    id = columns.UUID(primary_key=True, default=uuid.uuid4)
    name = columns.Text()
    age = columns.Integer()
    born = columns.DateTime()
    tags = columns.Set(columns.Text)
    scores = columns.Map(columns.Text, columns.Integer())
    nested = columns.List(columns.List(columns.Float))
    address = columns.UserDefinedType(Address)
    vector = columns.Vector(columns.Float, 3)


def blocking() -> None:
    person = Person.create(name="x", age=5)
    assert_type(person, Person)
    assert_type(person.id, uuid.UUID)
    assert_type(person.name, str)
    assert_type(person.age, int)
    assert_type(person.born, datetime.datetime)
    assert_type(person.tags, set[str])
    assert_type(person.scores, dict[str, int])
    assert_type(person.nested, list[list[float]])
    assert_type(person.address, Address)
    assert_type(person.address.street, str)
    assert_type(person.vector, list[float])
    # Any column may be null.
    person.age = None
    assert_type(Person.get(id=person.id), Person)
    assert_type(Person.objects, ModelQuerySet[Person])
    assert_type(Person.objects.filter(Person.age > 5, name="x").limit(3), ModelQuerySet[Person])
    assert_type(Person.objects.get(), Person)
    assert_type(Person.objects.first(), Person | None)
    for found_person in Person.objects.all():
        assert_type(found_person, Person)
    assert_type(person.ttl(5).save(), Person)
    assert_type(person.save(), Person)
    assert_type(person.update(age=3), Person)
    person.age = "x"  # type: ignore[assignment]


async def asynchronous() -> None:
    assert_type(await Person.acreate(name="x"), Person)
    assert_type(await Person.aget(name="x"), Person)
    assert_type(await Person.objects.afirst(), Person | None)
    assert_type(await Person.objects.acount(), int)
    async for person in Person.objects.all():
        assert_type(person.age, int)
