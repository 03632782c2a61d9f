"""Use langflow: components of langflow: a vector store with each kind of search, chat memory."""

from __future__ import annotations

import os

os.environ["LANGFLOW_SSRF_PROTECTION_ENABLED"] = "false"

from common import HOST, KEYSPACE, PORT, make_cluster, new_keyspace
from langchain_core.embeddings import Embeddings
from lfx.schema.data import Data
from lfx_datastax.components.cassandra.cassandra import CassandraVectorStoreComponent
from lfx_datastax.components.cassandra.cassandra_chat import CassandraChatMemory

# The vectors of texts, by the first word.
VECTORS = {"red": [1.0, 0.0, 0.25], "green": [0.25, 1.0, 0.0], "blue": [0.0, 0.25, 1.0]}


class Words(Embeddings):
    """Embeds a string as a vector that depends on its first word and, slightly, on its length.

    The length makes all distances different, so the order of results is always the same.
    """

    def embed_query(self, text: str) -> list[float]:
        first, *others = VECTORS.get(text.split()[0], [0.5, 0.5, 0.5])
        return [first + len(text) / 256, *others]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def component(**more: object) -> CassandraVectorStoreComponent:
    """Return Langflow's vector store component with default inputs.

    :param more: inputs that replace the defaults.
    """
    vector_store = CassandraVectorStoreComponent()
    vector_store.set_attributes(
        {
            "database_ref": HOST,
            "username": "nobody",
            "token": "none",
            "cluster_kwargs": {"port": PORT},
            "keyspace": KEYSPACE,
            "table_name": "of_langflow",
            "ttl_seconds": None,
            "batch_size": 2,
            "setup_mode": "Sync",
            "embedding": Words(),
            "ingest_data": [],
            "search_query": "",
            "search_type": "Similarity",
            "number_of_results": 2,
            "search_score_threshold": 0,
            "search_filter": {},
            "body_search": "",
            "enable_body_search": False,
            **more,
        }
    )
    return vector_store


def print_results(results: list[Data]) -> None:
    """Print each match of a search."""
    for each in results:
        print(sorted((key, value) for key, value in each.data.items()), each.get_text())


def vectors() -> None:
    """Search for strings by similarity, by filters and with a threshold, and print the matches."""
    texts = ["red apple", "green apples", "blue", "red cherry pie", "green"]
    data = [Data(data={"text": text, "kind": text[:1]}, text_key="text") for text in texts]
    print_results(component(ingest_data=data, search_query="green leaf").search_documents())
    print_results(component(search_query="red", search_filter={"kind": "b"}).search_documents())
    for kind in ("MMR (Max Marginal Relevance)", "Similarity with score threshold"):
        more = {"search_type": kind, "search_score_threshold": 0.5}
        print_results(component(search_query="red", **more).search_documents())
    print(component(setup_mode="Off").search_documents())
    store = component(setup_mode="Off", ingest_data=data[:1]).build_vector_store()
    print(type(store).__name__, len(store.similarity_search("red", k=9)))


def chat() -> None:
    """Write, print and clear the history of a chat."""
    memory = CassandraChatMemory()
    memory.set_attributes(
        {
            "database_ref": HOST,
            "username": "nobody",
            "token": "none",
            "cluster_kwargs": {"port": PORT},
            "keyspace": KEYSPACE,
            "table_name": "of_chat",
            "session_id": "one",
        }
    )
    history = memory.build_message_history()
    history.add_user_message("hello")
    history.add_ai_message("good day")
    print([(message.type, message.content) for message in history.messages])
    history.clear()
    print(history.messages)


def main() -> None:
    with make_cluster() as cluster:
        new_keyspace(cluster.connect())
    vectors()
    chat()


main()
