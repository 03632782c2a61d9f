"""Recordings contain no passwords of statements, and are replayed to statements with passwords."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cassandra.cluster import Cluster
from cassandra.errors import InvalidRequest
from cassandra.protocol.messages.errors import SyntaxException
from cassandra.testing import Recorder, ReplayNode
from cassandra.testing.fake import ErrorCode, FakeNode, error, rows, void

SECRET = "hunter2"
STATEMENTS = [
    f"CREATE ROLE a WITH PASSWORD = '{SECRET}'",
    f"CREATE USER a WITH PASSWORD '{SECRET}'",
    f"ALTER USER a WITH HASHED PASSWORD '{SECRET}'",
    f"CREATE ROLE a WITH PASSWORD = $${SECRET}$$",
    f"CREATE ROLE a WITH PASSWORD=/*x*/'{SECRET}'",
    f"CREATE ROLE a WITH SALTED HASH = '{SECRET}'",
    f"CREATE ROLE a WITH OPTIONS = {{'token': '{SECRET}'}}",
    f"UPDATE ks.users SET password = '{SECRET}' WHERE k = 1",
]
WRONG = f"CREATE ROLE a WITH PASSWORD '{SECRET}'"
WEAK = f"ALTER ROLE a WITH PASSWORD = '{SECRET}'"
BOUND = "ALTER ROLE b WITH PASSWORD = ?"
GENERATED = "CREATE ROLE g WITH GENERATED PASSWORD"


def run(server: Any) -> list[str]:
    """Execute all statements, and return the messages that the server sends.

    The messages are the warnings of each of STATEMENTS, the generated password, and the errors of
    WRONG and WEAK.
    """
    with Cluster(server.contact_points, port=server.port) as cluster:
        session = cluster.connect()
        messages = []
        for statement in STATEMENTS:
            messages.append(str(session.execute(statement).response_future.warnings))
            session.execute(session.prepare(statement))
        session.execute(session.prepare(BOUND), (SECRET,))
        messages.append(str(session.execute(GENERATED).one().generated_password))
        for statement, error_type in ((WRONG, SyntaxException), (WEAK, InvalidRequest)):
            with pytest.raises(error_type) as raised:
                session.execute(statement)
            messages.append(str(raised.value))
    return messages


@pytest.mark.parametrize("version", [4, 5])
def test_no_secret_is_written(version: int, tmp_path: Path) -> None:
    """The application gets all messages unchanged while its run is recorded.

    The recording and its replay have the messages without the secrets.
    """
    path = tmp_path / "run.jsonl"
    with FakeNode(max_version=version) as node:
        for statement in STATEMENTS:
            node.prime(statement, void().having(warnings=["old", f"{SECRET} is weak"]))
            node.prime_prepare(statement, [])
        node.prime(BOUND, void())
        node.prime_prepare(BOUND, [("password", "text")])
        node.prime(
            GENERATED,
            rows([("role", "text"), ("generated_password", "text")], [("g", SECRET)]),
        )
        message = f"line 1:26 no viable alternative at input '{SECRET}'"
        node.prime(WRONG, error(ErrorCode.SYNTAX_ERROR, message))
        node.prime(
            WEAK,
            error(ErrorCode.INVALID, f"the password {SECRET} is weak").having(warnings=[SECRET]),
        )
        with Recorder(path, node.address, node.port) as recorder:
            messages = run(recorder)
    assert all(SECRET in message for message in messages)
    recorded = path.read_text()
    assert SECRET not in recorded
    assert SECRET.encode().hex() not in recorded
    with ReplayNode(path) as replayed:
        *warnings, generated, wrong, weak = run(replayed)
        replayed.check()
    assert set(warnings) == {"['old', '*** is weak']"}
    assert generated == "***"
    assert "the server's message is left out" in wrong
    assert "the password *** is weak" in weak


def test_a_recording_with_passwords_is_replayed(tmp_path: Path) -> None:
    """A recording that contains a password is replayed to statements with any password.

    Older versions wrote such recordings.
    """
    path = tmp_path / "run.jsonl"
    statement = STATEMENTS[1]
    with FakeNode() as node:
        node.prime(statement, void())
        with (
            Recorder(path, node.address, node.port) as recorder,
            Cluster(recorder.contact_points, port=recorder.port) as cluster,
        ):
            cluster.connect().execute(statement)
    # Write the password into the recording.
    header, *exchanges = [json.loads(line) for line in path.read_text().splitlines()]
    for exchange in exchanges:
        if exchange["request"]["text"].startswith("CREATE USER"):
            exchange["request"]["text"] = statement
    path.write_text("\n".join(json.dumps(line) for line in [header, *exchanges]))
    with (
        ReplayNode(path) as replayed,
        Cluster(replayed.contact_points, port=replayed.port) as cluster,
    ):
        cluster.connect().execute(statement.replace(SECRET, "other"))
        replayed.check()
