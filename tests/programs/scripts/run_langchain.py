"""Use langchain's Cassandra stores: vectors, chat history, LLM cache, byte store and loader."""

from __future__ import annotations

import asyncio
import warnings

warnings.simplefilter("ignore")

import cassio  # noqa: E402
from common import KEYSPACE, make_cluster, new_keyspace  # noqa: E402
from langchain_community.cache import CassandraCache  # noqa: E402
from langchain_community.chat_message_histories import CassandraChatMessageHistory  # noqa: E402
from langchain_community.document_loaders import CassandraLoader  # noqa: E402
from langchain_community.storage import CassandraByteStore  # noqa: E402
from langchain_community.utilities.cassandra_database import CassandraDatabase  # noqa: E402
from langchain_community.vectorstores import Cassandra  # noqa: E402
from langchain_core.documents import Document  # noqa: E402
from langchain_core.embeddings import Embeddings  # noqa: E402
from langchain_core.messages import AIMessage, HumanMessage  # noqa: E402
from langchain_core.outputs import Generation  # noqa: E402

from cassandra.cluster import Session  # noqa: E402


class Letters(Embeddings):
    """Embeds a string as a vector of how often it contains the letters a, b and c."""

    def embed_query(self, text: str) -> list[float]:
        return [float(text.count(letter)) + 0.01 for letter in "abc"]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def vector_store() -> Cassandra:
    """Add texts, search and delete by vectors, print the matches, and return the store."""
    store = Cassandra(embedding=Letters(), table_name="vectors")
    texts = ["aaa", "bbb", "ccc", "aab"]
    store.add_texts(texts, metadatas=[{"first": text[0]} for text in texts], ids=texts)
    for document, score in store.similarity_search_with_score("aa", k=2):
        print(document.page_content, document.metadata, round(score, 4))
    print(
        [match.page_content for match in store.similarity_search("b", k=3, filter={"first": "a"})]
    )
    print([match.page_content for match in store.max_marginal_relevance_search("ab", k=2)])
    print(
        store.delete(["aaa"]), [match.page_content for match in store.similarity_search("a", k=9)]
    )
    return store


async def from_asyncio(store: Cassandra) -> None:
    """Call the coroutines of the vector store and of the chat history."""
    await store.aadd_documents([Document("cab", id="cab"), Document("cba", id="cba")])
    documents = await store.asimilarity_search("cab", k=3)
    print(sorted(match.page_content for match in documents))
    history = CassandraChatMessageHistory(session_id="async", table_name="history")
    await history.aadd_messages([HumanMessage("hello"), AIMessage("good day")])
    print([message.content for message in await history.aget_messages()])


def stores(session: Session) -> None:
    """Use the chat history, the cache of LLM responses, and the byte store."""
    history = CassandraChatMessageHistory(session_id="s", table_name="history")
    history.add_user_message("question")
    history.add_ai_message("answer")
    print([(message.type, message.content) for message in history.messages])
    history.clear()
    print(history.messages)
    cache = CassandraCache()
    cache.update("prompt", "model", [Generation(text="cached")])
    print(cache.lookup("prompt", "model"), cache.lookup("other", "model"))
    cache.clear()
    store = CassandraByteStore(table="bytes", session=session, keyspace=KEYSPACE)
    store.mset([("k1", b"v1"), ("k2", b"\x00v2")])
    print(store.mget(["k1", "k2", "k3"]), sorted(store.yield_keys(prefix="k")))
    store.mdelete(["k1"])
    print(store.mget(["k1"]))


def tables(session: Session) -> None:
    """Read a table as documents, by a query, and as a description of its schema."""
    session.execute(f"CREATE TABLE {KEYSPACE}.t (id int, c int, v text, PRIMARY KEY (id, c))")
    session.execute(f"CREATE INDEX by_v ON {KEYSPACE}.t (v)")
    for number in range(3):
        values = (number, f"v{number}")
        session.execute(f"INSERT INTO {KEYSPACE}.t (id, c, v) VALUES (1, %s, %s)", values)
    loader = CassandraLoader(table="t", keyspace=KEYSPACE, session=session)
    for document in loader.load():
        print(document)
    database = CassandraDatabase(session)
    print(database.run(f"SELECT * FROM {KEYSPACE}.t", fetch="all"))
    try:
        print(database._resolve_schema([KEYSPACE])[KEYSPACE][0].as_markdown())
    except ValueError as error:  # with every driver, langchain refuses the options of an index
        print(type(error).__name__, len(str(error)))


def main() -> None:
    """Use the stores of langchain, from asyncio too, and read tables."""
    with make_cluster() as cluster:
        session = cluster.connect()
        new_keyspace(session)
        cassio.init(session=session, keyspace=KEYSPACE)
        tables(session)
        store = vector_store()
        stores(session)
        asyncio.run(from_asyncio(store))


main()
