"""Use trustgraph: its stores of quads, knowledge (tuples in lists), users and configuration."""

from __future__ import annotations

import asyncio
import datetime
import logging
from functools import partial

from common import HOST, KEYSPACE, PORT, make_cluster, new_keyspace
from trustgraph.direct import cassandra_kg
from trustgraph.schema import (
    IRI,
    LITERAL,
    EntityEmbeddings,
    GraphEmbeddings,
    Metadata,
    Term,
    Triple,
    Triples,
)
from trustgraph.tables import config, iam, knowledge
from trustgraph.tables.cassandra_async import async_execute_paged, async_scan

logging.disable(logging.CRITICAL)

# These modules create clusters with the default port. Make them use the port of the test's node.
for module in (cassandra_kg, config, iam, knowledge):
    module.Cluster = partial(module.Cluster, port=PORT)  # type: ignore[attr-defined]

WHERE = (HOST, None, None, KEYSPACE)  # arguments of the stores: host, user, password, keyspace
CREATED = datetime.datetime(2024, 2, 29, 12, 30)  # the time at which workspaces and users began


def print_rows(rows) -> None:
    """Print each row that a store has returned."""
    for row in rows:
        print(tuple(row) if isinstance(row, tuple) else sorted(vars(row).items()))


def quads(graph) -> None:
    """Insert quads, and print the result of each method that looks for quads."""
    print(graph.collection_exists("c"))
    graph.create_collection("c")
    print(graph.collection_exists("c"))
    for number in range(60):
        graph.insert("c", f"http://s/{number % 5}", "http://p/a", f"value {number}")
    graph.insert("c", "http://s/0", "http://p/b", "http://s/1", "http://g")
    print_rows(graph.get_all("c", 4))
    print_rows(graph.get_s("c", "http://s/0", limit=3))
    print_rows(graph.get_p("c", "http://p/b"))
    print_rows(graph.get_o("c", "value 7"))
    print_rows(graph.get_sp("c", "http://s/1", "http://p/a", limit=2))
    print_rows(graph.get_po("c", "http://p/a", "value 9"))
    print_rows(graph.get_os("c", "value 3", "http://s/3", limit=20))
    print_rows(graph.get_spo("c", "http://s/3", "http://p/a", "value 3", limit=20))
    print_rows(graph.get_g("c", "http://g"))


async def quads_on_asyncio(graph) -> None:
    """Insert and read quads with coroutines, in pages, and with a filtered scan."""
    await graph.async_create_collection("d")
    await asyncio.gather(
        *(
            graph.async_insert("d", f"http://s/{n % 3}", "http://p", f"http://o/{n}")
            for n in range(40)
        )
    )
    print(await graph.async_collection_exists("d"))
    print_rows(await graph.async_get_s("d", "http://s/1", limit=4))
    print_rows(await graph.async_get_all("d", 2))
    query = "SELECT s, o FROM quads_by_collection WHERE collection = %s"
    pages = await async_execute_paged(graph.session, query, ("d",), fetch_size=15)
    print([len(page) for page in pages])
    quads = await async_scan(
        graph.session, query, ("d",), lambda row: row.s.endswith("2"), limit=5, fetch_size=7
    )
    print_rows(quads)
    try:
        await async_scan(graph.session, "SELECT * FROM nowhere")
    except Exception as error:
        print(type(error).__name__)
    await graph.async_delete_collection("d")
    print(await graph.async_collection_exists("d"), await graph.async_get_all("d", 9))


async def knowledge_of_documents() -> None:
    """Store, print and delete the triples and the embeddings of a document."""
    store = knowledge.KnowledgeTableStore(*WHERE)
    metadata = Metadata(id="doc", root="doc", collection="default")
    subject, predicate = Term(type=IRI, iri="http://s"), Term(type=IRI, iri="http://p")
    triples = [
        Triple(s=subject, p=predicate, o=Term(type=LITERAL, value=f"v{number}"), g=None)
        for number in range(4)
    ]
    await store.add_triples("w", Triples(metadata=metadata, triples=triples))
    entities = [EntityEmbeddings(entity=subject, vector=[0.25, 0.5, 1.0])]
    await store.add_graph_embeddings("w", GraphEmbeddings(metadata=metadata, entities=entities))
    print(await store.list_kg_cores("w"))

    async def receive(message) -> None:
        print(message)

    await store.get_triples("w", "doc", receive)
    await store.get_graph_embeddings("w", "doc", receive)
    await store.delete_kg_core("w", "doc")
    print(await store.list_kg_cores("w"))
    store.cluster.shutdown()


async def users_and_settings() -> None:
    """Store and print workspaces, users and settings."""
    store = iam.IamTableStore(*WHERE)
    await store.put_workspace("w1", "first", True, CREATED)
    print_rows([await store.get_workspace("w1")])
    await store.put_user(
        "u1", "w1", "ann", "Ann", "ann@example.com", "hash", ["admin", "user"], True, False, CREATED
    )
    user = await store.get_user("u1")
    print(user.username, sorted(user.roles), user.created, await store.get_user("u2"))
    print(
        await store.get_user_id_by_username("ann"), len(await store.list_users_by_workspace("w1"))
    )
    await store.update_user_enabled("u1", False)
    print((await store.get_user("u1")).enabled, await store.any_workspace_exists())
    store.cluster.shutdown()
    settings = config.ConfigTableStore(*WHERE)
    print(await settings.get_version())
    await settings.inc_version()
    print(await settings.get_version())
    for number in range(3):
        await settings.put_config("w1", "class", f"k{number}", f"v{number}")
    print(await settings.get_value("w1", "class", "k1"), await settings.get_value("w1", "no", "k1"))
    print(await settings.get_values("w1", "class"), await settings.get_keys("w1", "class"))
    print(await settings.get_values_all_ws("class"), await settings.get_all_for_workspace("w1"))
    await settings.delete_key("w1", "class", "k1")
    print(sorted(await settings.get_all()))
    settings.cluster.shutdown()


def main() -> None:
    """Run the steps of each store, and of trustgraph's older store of quads."""
    with make_cluster() as cluster:
        new_keyspace(cluster.connect())
    graph = cassandra_kg.EntityCentricKnowledgeGraph([HOST], KEYSPACE)
    quads(graph)
    asyncio.run(quads_on_asyncio(graph))
    graph.delete_collection("c")
    print(list(graph.get_all("c")), graph.collection_exists("c"))
    graph.close()
    old = cassandra_kg.KnowledgeGraph([HOST], KEYSPACE)
    old.insert("c", "s", "p", "o", "g")
    print_rows(old.get_all("c"))
    print_rows(old.get_os("c", "o", "s", g="*"))
    old.close()
    asyncio.run(knowledge_of_documents())
    asyncio.run(users_and_settings())


main()
