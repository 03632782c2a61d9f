"""Web services in examples/ turn the driver's errors into HTTP statuses, as in the run book."""

from __future__ import annotations

import base64
import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cassandra import OperationTimedOut, ReadTimeout, Unavailable
from cassandra.cluster import NoHostAvailable
from cassandra.connection import ConnectionException
from cassandra.errors import InvalidRequest
from cassandra.testing.fake import ErrorCode, FakeNode, error, rows
from cassandra.throttling import RequestThrottled

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
NOTES = [("id", "timeuuid"), ("body", "text")]
PAGE = "SELECT id, body FROM service.notes WHERE owner = ?"
ADD = "INSERT INTO service.notes (owner, id, body) VALUES (?, ?, ?)"


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module("service_fastapi")


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (RequestThrottled("full"), 429),
        (Unavailable("too few"), 503),
        (NoHostAvailable("none", {}), 503),
        (OperationTimedOut(), 504),
        (ReadTimeout("late"), 504),
        (ConnectionException("10.0.0.1 broke"), 504),
        (InvalidRequest("no such table"), 500),
    ],
)
def test_status_of_maps_errors_to_http_statuses(
    service: Any, failure: Exception, status: int
) -> None:
    code, text = service.status_of(failure)
    assert code == status
    assert str(failure) not in text


def test_the_service_returns_notes_and_statuses(service: Any) -> None:
    pytest.importorskip("fastapi")
    pytest.importorskip("httpx")
    client = pytest.importorskip("fastapi.testclient")
    with FakeNode() as node:
        node.prime_prepare(ADD, [("owner", "text"), *NOTES], pk_indexes=[0])
        node.prime_prepare(PAGE, [("owner", "text")], result=NOTES, pk_indexes=[0])
        node.prime(PAGE, rows(NOTES, []))
        app = service.create_app([node.address], port=node.port)
        with client.TestClient(app, raise_server_exceptions=False) as browser:
            assert browser.get("/ready").json() == {"ready": True}
            assert browser.get("/notes/ada").json() == {"notes": [], "next": None}
            assert browser.get("/notes/ada", params={"token": "!"}).status_code == 400
            node.prime(PAGE, error(ErrorCode.UNAVAILABLE))
            response = browser.get("/notes/ada")
            assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
            assert response.json() == {"detail": "the database is not available"}
            node.prime(PAGE, error(ErrorCode.PROTOCOL_ERROR, "Invalid value for the paging state"))
            token = base64.urlsafe_b64encode(b"forged").decode()
            assert browser.get("/notes/ada", params={"token": token}).status_code == 400
            node.prime("SELECT key FROM system.local", error(ErrorCode.OVERLOADED))
            assert browser.get("/ready").status_code == 503


def test_the_example_of_a_tested_application_passes(tmp_path: Path) -> None:
    for package in ("fastapi", "httpx", "pytest_asyncio"):
        pytest.importorskip(package)
    query = "SELECT name FROM users WHERE key = 1"
    with FakeNode() as node:
        node.prime(query, rows([("name", "text")], [("Ada",)]))
        done = subprocess.run(
            [
                sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull,
                "-p", "turbocql_pytest", "-p", "pytest_asyncio.plugin", "-o", "asyncio_mode=auto",
                f"--rootdir={tmp_path}", f"--cassandra-hosts={node.address}:{node.port}",
                str(EXAMPLES / "fastapi_tested.py"),
            ],
            capture_output=True, text=True, cwd=tmp_path, check=False,
            env={
                **os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT),
            },
        )  # fmt: skip
        assert "1 passed" in done.stdout, done.stdout + done.stderr
