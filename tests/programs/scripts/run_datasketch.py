"""Use datasketch: MinHash LSH in tables: insert, sessions of inserts, query, remove, counts."""

from __future__ import annotations

from common import KEYSPACE, make_cluster, new_keyspace
from datasketch import MinHash, MinHashLSH

from cassandra.cluster import Session

TEXTS = {
    "a": "a driver sends requests and reads rows",
    "b": "a driver sends requests and reads pages",
    "c": "nothing of this is like the others at all",
    "d": "a driver sends requests and reads rows again",
}


def sketch(text: str) -> MinHash:
    """Return the MinHash sketch of the words of a string."""
    minhash = MinHash(num_perm=64, seed=7)
    for word in text.split():
        minhash.update(word.encode())
    return minhash


def make_index(session: Session, name: str, **more: object) -> MinHashLSH:
    """Return an index that stores its data in Cassandra.

    :param more: further settings of the storage.
    """
    return MinHashLSH(
        threshold=0.5,
        num_perm=64,
        prepickle=True,
        storage_config={
            "type": "cassandra",
            "basename": name.encode(),
            "cassandra": {
                "seeds": [],
                "session": session,
                "keyspace": KEYSPACE,
                "replication": {"class": "SimpleStrategy", "replication_factor": "1"},
                "drop_keyspace": False,
                "drop_tables": True,
                **more,
            },
        },
    )


def fill_and_ask(index: MinHashLSH) -> None:
    """Insert, find and remove sketches, and print the index's results after each step."""
    sketches = {name: sketch(text) for name, text in TEXTS.items()}
    print(index.is_empty())
    for name in ("a", "b"):
        index.insert(name, sketches[name])
    with index.insertion_session(buffer_size=3) as insertion:
        for name in ("c", "d"):
            insertion.insert(name, sketches[name])
    print(index.is_empty(), sorted(index.keys))
    for name, minhash in sketches.items():
        print(name, sorted(index.query(minhash)), name in index)
    index.add_to_query_buffer(sketches["a"])
    index.add_to_query_buffer(sketches["b"])
    print(sorted(index.collect_query_buffer()))
    print([sorted(counts.values()) for counts in index.get_counts()][:3])
    try:
        index.insert("a", sketches["a"])
    except ValueError as error:
        print(error)
    index.remove("a")
    with index.deletion_session(buffer_size=2) as deletion:
        deletion.remove("d")
    print("a" in index, sorted(index.keys), sorted(index.query(sketches["b"])))
    try:
        index.remove("a")
    except ValueError as error:
        print(error)


def fill_many(index: MinHashLSH) -> None:
    """Insert more keys than datasketch reads in one page."""
    with index.insertion_session(buffer_size=5000) as insertion:
        for number in range(1100):
            insertion.insert(f"k{number}", sketch(f"word{number} of{number % 7}"), False)
    keys = set(index.keys)
    print(len(keys), min(keys), max(keys))
    print(sorted(index.query(sketch("word12 of5"))))


def main() -> None:
    """Use indexes with separate buffers, shared buffers and many rows; print the created tables."""
    with make_cluster() as cluster:
        session = cluster.connect()
        new_keyspace(session)
        fill_and_ask(make_index(session, "plain"))
        fill_and_ask(make_index(session, "shared", shared_buffer=True))
        fill_many(make_index(session, "many"))
        tables = session.execute(
            "SELECT table_name FROM system_schema.tables WHERE keyspace_name = %s", (KEYSPACE,)
        )
        print(sorted(row.table_name for row in tables))


main()
