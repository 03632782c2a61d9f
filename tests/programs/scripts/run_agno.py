"""Use agno: its vector database: documents by vector, name, hash and owner; metadata; deletions."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from agno.knowledge.document import Document
from agno.knowledge.embedder.base import Embedder
from agno.vectordb.cassandra import Cassandra
from common import KEYSPACE, make_cluster, new_keyspace

logging.disable(logging.CRITICAL)

# The vectors of texts, by the first word.
VECTORS = {"red": [1.0, 0.0, 0.25], "green": [0.25, 1.0, 0.0], "blue": [0.0, 0.25, 1.0]}


@dataclass
class Words(Embedder):
    """Embeds a string as a vector that depends on its first word and, slightly, on its length.

    The length makes all distances different, so the order of results is always the same.
    """

    dimensions: int | None = 3

    def get_embedding(self, text: str) -> list[float]:
        first, *others = VECTORS[text.split()[0]]
        return [first + len(text) / 256, *others]

    def get_embedding_and_usage(self, text: str) -> tuple[list[float], dict | None]:
        return self.get_embedding(text), None

    async def async_get_embedding(self, text: str) -> list[float]:
        return self.get_embedding(text)

    async def async_get_embedding_and_usage(self, text: str) -> tuple[list[float], dict | None]:
        return self.get_embedding(text), None


def document(content: str, number: int) -> Document:
    """Return a document whose metadata has its number and the first word of its content."""
    return Document(
        content=content,
        id=f"d{number}",
        name=f"name {number % 2}",
        meta_data={"number": number, "colour": content.split()[0]},
        content_id=f"c{number}",
    )


def print_documents(documents: list[Document]) -> None:
    """Print each document that the store has returned."""
    for each in documents:
        print(each.id, each.name, each.content, sorted(each.meta_data.items()), each.embedding)


async def on_asyncio(store: Cassandra) -> None:
    """Call the coroutines of the store, and print what each coroutine returns."""
    await store.async_create()
    print(await store.async_exists())
    await store.async_insert("h-async", [document("blue of asyncio", 9)])
    print_documents(await store.async_search("blue", limit=1))
    print(await store.async_name_exists("name 1"), await store.async_name_exists("no name"))
    await store.async_upsert("h-async", [document("blue again", 9)])
    print_documents(await store.async_search("blue", limit=1))
    await store.async_drop()
    print(await store.async_exists())


def try_store(store: Cassandra) -> None:
    """Insert, search, change and delete documents, and print what each method returns."""
    print(store.exists(), store.content_hash_exists("h1"))
    contents = ["red apple", "green apple", "blue berry", "red cherry"]
    store.insert("h1", [document(text, number) for number, text in enumerate(contents)])
    store.insert("h2", [document("green leaf", 7)], filters={"kind": "leaf"}, user_id="ann")
    print_documents(store.search("green", limit=2))
    print_documents(store.search("green", limit=5, user_id="ann"))
    print_documents(store.search("green", limit=1, user_id="bob"))
    for name in ("name 1", "missing"):
        print(name, store.name_exists(name))
    print(store.id_exists("d1"), store.content_hash_exists("h1"), store.content_hash_exists("h2"))
    print(store.content_hash_exists("h2", user_id="ann"))
    store.update_metadata("c1", {"colour": "changed"})
    print_documents(store.search("green", limit=1, user_id="bob"))
    store.upsert("h2", [document("green tree", 7)], user_id="ann")
    print_documents(store.search("green", limit=1, user_id="ann"))
    print(store.delete_by_name("name 0"), store.delete_by_name("name 0"))
    print(store.delete_by_metadata({"number": 3}), store.delete_by_content_id("c1"))
    print(store.delete_by_content_hash("h2", user_id="ann"), store.delete_by_content_hash("none"))
    print_documents(store.search("red", limit=9))
    store.insert("h3", [document("red again", 5)])
    print(store.delete(), store.search("red", limit=9))
    store.drop()
    print(store.exists())


def main() -> None:
    with make_cluster() as cluster:
        session = cluster.connect()
        new_keyspace(session)
        try_store(Cassandra("documents", KEYSPACE, Words(), session))
        asyncio.run(on_asyncio(Cassandra("of_asyncio", KEYSPACE, Words(), session)))


main()
