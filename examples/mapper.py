"""The object mapper on a real server: a small blog, blocking and awaited.

The program starts a real Apache Cassandra node on this machine (or uses yours: --contact-points),
declares models, creates their tables, writes and reads rows, and prints what it reads.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import datetime
import os
import uuid
from collections.abc import Iterator

from cassandra.cqlengine import columns, connection, management
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery, LWTException
from cassandra.cqlengine.usertype import UserType
from cassandra.testing import LocalCluster

KEYSPACE = "mapper_example"
# In production, set 3 replicas: with 1, requests fail while the node that has the row is down.
REPLICAS = int(os.environ.get("CASSANDRA_REPLICAS", "1"))


class Address(UserType):
    street = columns.Text()
    city = columns.Text()


class Author(Model):
    name = columns.Text(primary_key=True)
    joined = columns.DateTime(default=lambda: datetime.datetime(2024, 1, 1))
    address = columns.UserDefinedType(Address)


class Post(Model):
    author = columns.Text(partition_key=True)
    id = columns.TimeUUID(primary_key=True, clustering_order="DESC", default=uuid.uuid1)
    title = columns.Text(required=True)
    tags = columns.Set(columns.Text)
    reactions = columns.Map(columns.Text, columns.Integer)


class Views(Model):
    post = columns.TimeUUID(primary_key=True)
    count = columns.Counter()


def blocking() -> int:
    """Write a few rows, read them back, and return the number of posts."""
    Author.create(name="ada", address=Address(street="Main St.", city="London"))
    try:
        Author.if_not_exists().create(name="ada")
    except LWTException as refused:
        print(f"there is an author {refused.existing['name']} already")
    with BatchQuery() as batch:  # sends one request; all rows are in one partition
        for number in range(20):
            Post.batch(batch).create(author="ada", title=f"post {number}", tags={"new"})
    post = Post.objects(author="ada")[0]
    post.tags.add("read")  # only what has changed is written
    post.save()
    Post.objects(author="ada", id=post.id).update(
        reactions__update={"like": 3}, tags__remove={"new"}
    )
    post = Post.get(author="ada", id=post.id)
    print(f"{post.title!r} has the tags {sorted(post.tags)} and the reactions {post.reactions}")
    for _ in range(3):
        Views.objects(post=post.id).update(count=1)
    times = Views.get(post=post.id).count
    print(f"it was looked at {times} times by {Author.get(name='ada').address}")
    return Post.objects(author="ada").count()


async def awaited(hosts: list[str], port: int) -> int:
    """Use the same models on the running event loop, and return the number of posts."""
    await connection.aregister_connection("awaited", hosts, cluster_options={"port": port})
    posts = Post.objects.using(connection="awaited")
    await asyncio.gather(
        *(posts.acreate(author="bob", title=f"post {number}") for number in range(50))
    )
    titles = [post.title async for post in posts.filter(author="bob").fetch_size(20)]
    await posts.filter(author="bob").adelete()
    await connection.aunregister_connection("awaited")
    return len(titles)


@contextlib.contextmanager
def node(contact_points: list[str], port: int) -> Iterator[tuple[list[str], int]]:
    """Yield addresses and port of your server, or of a node that runs until the block ends."""
    if contact_points:
        yield contact_points, port
        return
    with LocalCluster(1) as local:
        yield local.contact_points, local.port


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--contact-points", nargs="*", default=[], help="addresses of your own nodes"
    )
    parser.add_argument("--port", type=int, default=9042)
    options = parser.parse_args()
    # This variable allows the mapper to change the schema. Without it, the mapper warns.
    os.environ.setdefault(management.CQLENG_ALLOW_SCHEMA_MANAGEMENT, "1")
    with node(options.contact_points, options.port) as (hosts, port):
        connection.setup(hosts, KEYSPACE, port=port)
        management.create_keyspace_simple(KEYSPACE, REPLICAS)
        for model in (Author, Post, Views):
            management.sync_table(model)
        print(f"{blocking()} posts, blocking")
        print(f"{asyncio.run(awaited(hosts, port))} posts, awaited")
        management.drop_keyspace(KEYSPACE)
        connection.unregister_connection(connection.DEFAULT_CONNECTION)


if __name__ == "__main__":
    main()
