"""Use coodie: models of pydantic, their tables, queries, pages and light-weight transactions."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from common import HOST, KEYSPACE, PORT, make_cluster, new_keyspace
from coodie.fields import ClusteringKey, Indexed, PrimaryKey
from coodie.sync import Document, init_coodie

from cassandra.cluster import Cluster


class Person(Document):
    id: Annotated[UUID, PrimaryKey()]
    day: Annotated[int, ClusteringKey(order="DESC")]
    name: Annotated[str, Indexed()]
    tags: set[str] = set()
    numbers: dict[str, int] = {}
    note: str | None = None

    class Settings:
        name = "people"


def tables(*whose: Cluster) -> None:
    """Run the same steps of coodie's object mapper with each cluster."""
    for cluster in whose:
        init_coodie(session=cluster.connect(KEYSPACE), keyspace=KEYSPACE)
        Person.sync_table()
        Person.sync_table()
        key = UUID(int=3)
        for day in range(5):
            Person(id=key, day=day, name=f"n{day % 2}", tags={"a"}, numbers={"x": day}).save()
        for person in Person.find(id=key).limit(3).all():
            print(person.day, person.name, person.tags, person.numbers)
        print(Person.find(id=key).count(), Person.get(id=key, day=1).name)
        Person.find(id=key, day=1).update(name="changed")
        print(Person.get(id=key, day=1).name, Person.find_one(id=key, day=9))
        print(Person(id=key, day=1, name="again").insert())
        Person.get(id=key, day=2).delete()
        print([person.day for person in Person.find(id=key).all()])
        Person.find(id=key).delete()


def main() -> None:
    with make_cluster() as cluster, Cluster([HOST], port=PORT) as plain:
        new_keyspace(cluster.connect())
        tables(cluster, plain)


main()
