"""A real node refuses statements of other vector databases, and a note says what to write.

The driver chooses the note by the server's message. Messages change from release to release.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cassandra.cluster import Session
from cassandra.errors import RequestValidationException
from cassandra.testing import LocalCluster

from .conftest import connect, create_keyspace, new_keyspace_name

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def session(node: LocalCluster) -> Iterator[Session]:
    """Yield a session in a keyspace with the tables `docs` (indexed), `bare`, `old` and `other`."""
    name = new_keyspace_name()
    with connect(node) as cluster, cluster.connect() as session:
        create_keyspace(session, name)
        session.set_keyspace(name)
        session.execute(
            "CREATE TABLE docs (id int PRIMARY KEY, title text, year int, v vector<float, 2>)"
        )
        session.execute("CREATE INDEX ON docs (v) USING 'sai'")
        session.execute("CREATE INDEX ON docs (year) USING 'sai'")
        session.execute("CREATE TABLE bare (id int PRIMARY KEY, title text, v vector<float, 2>)")
        session.execute("CREATE TABLE old (id int PRIMARY KEY, v vector<float, 2>)")
        session.execute("CREATE INDEX ON old (v) USING 'legacy_local_table'")
        session.execute("CREATE TABLE other (id int PRIMARY KEY, v vector<int, 2>, l list<float>)")
        yield session
        session.execute(f"DROP KEYSPACE {name}")


@pytest.mark.parametrize(
    ("statement", "advice"),
    [
        ("SELECT id FROM docs ORDER BY v ANN OF [1, 2] LIMIT 3 OFFSET 3", "larger LIMIT"),
        ("CREATE INDEX ON bare USING hnsw (v vector_cosine_ops)", "(column) USING 'sai'"),
        ("CREATE INDEX ON bare (v) USING 'ivfflat'", "(column) USING 'sai'"),
        ("CREATE INDEX ON bare (v) USING sai", "with quotes"),
        (
            "CREATE INDEX ON bare (v) WITH OPTIONS = {'similarity_function': 'cosine'}",
            "USING 'sai' before WITH OPTIONS",
        ),
        (
            "CREATE INDEX ON bare (v) USING 'sai' WITH OPTIONS = {'similarity_function': 'l2'}",
            "write 'euclidean'",
        ),
        (
            "CREATE INDEX ON bare (v) USING 'sai' WITH OPTIONS = {'metric': 'cosine'}",
            "'similarity_function'",
        ),
        (
            "CREATE INDEX ON docs (v) USING 'sai' WITH OPTIONS = "
            "{'similarity_function': 'euclidean'}",
            "DROP INDEX first",
        ),
        ("CREATE INDEX ON other (v) USING 'sai'", "only vector<float, n>"),
        (
            "CREATE INDEX ON other (l) USING 'sai' "
            "WITH OPTIONS = {'similarity_function': 'cosine'}",
            "type vector<float, n>",
        ),
        ("SELECT id FROM docs WHERE year IN (1, 2)", "no index serves IN"),
        (
            "SELECT id FROM docs WHERE year IN (1, 2) ORDER BY v ANN OF [1, 2] LIMIT 3",
            "no index serves IN",
        ),
        ("SELECT id FROM old ORDER BY v ANN OF [1, 2] LIMIT 3", "create it with USING 'sai'"),
        ("SELECT id FROM bare ORDER BY v ANN OF [1, 2] LIMIT 3", "USING 'sai' first"),
        (
            "SELECT id FROM docs WHERE title = 'a' ORDER BY v ANN OF [1, 2] LIMIT 3",
            "each column in WHERE",
        ),
        ("SELECT id FROM docs WHERE similarity_cosine(v, [1, 2]) > 0.8", "takes no functions"),
        (
            "SELECT id, similarity_cosine(v, [1, 2]) AS s FROM docs ORDER BY s LIMIT 3",
            "the name that AS gives",
        ),
        ("SELECT id FROM docs ORDER BY v ANN OF [1, 2]", "from 1 to 1000"),
        ("SELECT id FROM docs ORDER BY v ANN OF [1, 2] LIMIT 2000", "at most 1000"),
        ("SELECT id FROM docs ORDER BY v ANN OF [1, 2] DESC LIMIT 3", "leave DESC out"),
        ("SELECT id FROM docs ORDER BY v ANN OF [1, 2], year LIMIT 3", "in your program"),
        ("SELECT count(*) FROM docs ORDER BY v ANN OF [1, 2] LIMIT 3", "in your program"),
        ("SELECT id FROM docs WHERE v = [1, 2]", "in place of the condition"),
        ("SELECT id FROM docs WHERE id IN (1, 2) ORDER BY v ANN OF [1, 2] LIMIT 3", "each value"),
        ("SELECT id FROM docs ORDER BY title ANN OF [1, 2] LIMIT 3", "vector<float, n>"),
        ("SELECT id FROM docs ORDER BY v ANN OF '[1, 2]' LIMIT 3", "NumPy array"),
        ("SELECT id FROM docs ORDER BY v <-> '[1, 2]' LIMIT 3", "no operators for distances"),
        ("SELECT cosine_distance(v, [1, 2]) FROM docs", "similarity_cosine, similarity_dot"),
        ("SELECT similarity_cosine(title, [1, 2]) FROM docs", "NumPy array"),
        ("SELECT similarity_cosine(v, [1]) FROM docs", "as many numbers"),
        ("CREATE TABLE new (id int PRIMARY KEY, v vector(768))", "write vector<float, 768>"),
        ("CREATE TABLE new (id int PRIMARY KEY, v vector<768>)", "write vector<float, 768>"),
        ("CREATE TABLE new (id int PRIMARY KEY, v vector)", "number of dimensions"),
    ],
)
def test_refused_statements_about_vectors_get_advice(
    session: Session, statement: str, advice: str
) -> None:
    """The exception has a note with the advice for the mistake in the statement."""
    with pytest.raises(RequestValidationException) as raised:
        session.execute(statement)
    notes = vars(raised.value)["__notes__"]
    assert any(advice in note for note in notes), notes
