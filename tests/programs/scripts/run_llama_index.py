"""Use llama-index's vector store for Cassandra: add, query by vector and by metadata, delete."""

from __future__ import annotations

import cassio
from common import KEYSPACE, make_cluster, new_keyspace
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores import ExactMatchFilter, MetadataFilters, VectorStoreQuery
from llama_index.core.vector_stores.types import VectorStoreQueryMode
from llama_index.vector_stores.cassandra import CassandraVectorStore


def node(name: str, vector: list[float], document: str) -> TextNode:
    """Return a LlamaIndex node with a vector.

    :param document: the id of the node's source document.
    """
    return TextNode(
        id_=name,
        text=f"text {name}",
        embedding=vector,
        metadata={"name": name, "document": document},
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document)},
    )


def print_query_result(store: CassandraVectorStore, **query) -> None:
    """Query the store, and print the matches."""
    result = store.query(VectorStoreQuery(**query))
    similarities = [round(value, 4) for value in result.similarities or ()]
    print(result.ids, similarities, [node.get_content() for node in result.nodes or ()])


def main() -> None:
    """Add nodes, search by vector and by metadata, delete a document, and print the matches."""
    with make_cluster() as cluster:
        session = cluster.connect()
        new_keyspace(session)
        cassio.init(session=session, keyspace=KEYSPACE)
        store = CassandraVectorStore(table="nodes", embedding_dimension=2)
        vectors = {"a": [1.0, 0.0], "b": [0.8, 0.2], "c": [0.0, 1.0]}
        added = store.add([
            node(name, vector, "first" if name < "c" else "second")
            for name, vector in vectors.items()
        ])  # fmt: skip
        print(added)
        print_query_result(store, query_embedding=[1.0, 0.1], similarity_top_k=2)
        only = MetadataFilters(filters=[ExactMatchFilter(key="document", value="second")])
        print_query_result(store, query_embedding=[1.0, 0.1], similarity_top_k=2, filters=only)
        print_query_result(store, query_embedding=[1.0, 0.1], similarity_top_k=2,
             mode=VectorStoreQueryMode.MMR, mmr_threshold=0.3)  # fmt: skip
        store.delete("first")
        print_query_result(store, query_embedding=[1.0, 0.1], similarity_top_k=3)


main()
