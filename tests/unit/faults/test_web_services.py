"""The example web services return the HTTP statuses that the runbook gives for driver errors."""

from __future__ import annotations

import base64
import importlib
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from cassandra import ConsistencyLevel, OperationTimedOut, ReadTimeout, Unavailable
from cassandra.cluster import Cluster, NoHostAvailable
from cassandra.connection import ConnectionException
from cassandra.errors import InvalidRequest
from cassandra.testing.fake import ErrorCode, FakeCluster, FakeNode, error, rows
from cassandra.throttling import RequestThrottled

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
NOTES = [("id", "timeuuid"), ("body", "text")]
PAGE = "SELECT id, body FROM service.notes WHERE owner = ?"
PING = "SELECT id FROM service.notes WHERE owner = 'nobody' LIMIT 1"
ADD = "INSERT INTO service.notes (owner, id, body) VALUES (?, ?, ?)"


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the example `examples/service_fastapi.py` as a module."""
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
    """Each error of the driver has its HTTP status.

    The message for the client must not contain the driver's message, which may show addresses.
    """
    response_status, response_text = service.status_of(failure)
    assert response_status == status
    assert str(failure) not in response_text


def test_the_service_returns_notes_and_statuses(service: Any) -> None:
    """The example service returns its data, and the right HTTP status for each error."""
    pytest.importorskip("fastapi")
    pytest.importorskip("httpx")
    client = pytest.importorskip("fastapi.testclient")
    with FakeNode() as node:
        node.prime_prepare(ADD, [("owner", "text"), *NOTES], pk_indexes=[0])
        node.prime_prepare(PAGE, [("owner", "text")], result=NOTES, pk_indexes=[0])
        node.prime_prepare(PING, [], result=NOTES[:1])
        node.prime(PAGE, rows(NOTES, []))
        node.prime(PING, rows(NOTES[:1], []))
        app = service.create_app([node.address], port=node.port)
        with client.TestClient(app, raise_server_exceptions=False) as browser:
            # The service is ready, and returns an empty page. It refuses a token that it has not
            # made.
            assert browser.get("/ready").json() == {"ready": True}
            assert browser.get("/notes/ada").json() == {"notes": [], "next": None}
            assert browser.get("/notes/ada", params={"token": "!"}).status_code == 400
            # Too few replicas are available: the client may repeat the request after a second.
            node.prime(PAGE, error(ErrorCode.UNAVAILABLE))
            response = browser.get("/notes/ada")
            assert response.status_code == 503
            assert response.headers["Retry-After"] == "1"
            assert response.json() == {"detail": "the database is not available"}
            # The server refuses a paging state that the client has made up.
            node.prime(PAGE, error(ErrorCode.PROTOCOL_ERROR, "Invalid value for the paging state"))
            token = base64.urlsafe_b64encode(b"forged").decode()
            assert browser.get("/notes/ada", params={"token": token}).status_code == 400
            node.prime(PING, error(ErrorCode.UNAVAILABLE))
            assert browser.get("/ready").status_code == 503


def test_the_service_answers_while_a_node_hangs(service: Any) -> None:
    """While one of three nodes hangs, the service still succeeds.

    The requests of the service have the same consistency level as those of `/ready`, and can go to
    another node.
    """
    pytest.importorskip("fastapi")
    pytest.importorskip("httpx")
    client = pytest.importorskip("fastapi.testclient")
    with FakeCluster(3) as nodes:
        nodes.prime_prepare(ADD, [("owner", "text"), *NOTES], pk_indexes=[0])
        nodes.prime_prepare(PAGE, [("owner", "text")], result=NOTES, pk_indexes=[0])
        nodes.prime_prepare(PING, [], result=NOTES[:1])
        nodes.prime(PAGE, rows(NOTES, []))
        nodes.prime(PING, rows(NOTES[:1], []))
        app = service.create_app(nodes.contact_points, port=nodes.port)
        with client.TestClient(app) as browser:
            assert browser.get("/ready").status_code == 200
            # One node hangs. The service must use the two other nodes.
            nodes[0].pause()
            for _ in range(6):
                assert browser.get("/ready").status_code == 200
                assert browser.post("/notes/ada", json={"body": "tea"}).status_code == 200
                assert browser.get("/notes/ada").status_code == 200
            nodes[0].resume()
        for query in (ADD, PAGE, PING):
            levels = {
                request.consistency for node in nodes.nodes for request in node.queries(query)
            }
            assert levels == {ConsistencyLevel.LOCAL_QUORUM}


def test_the_example_of_a_tested_application_passes(tmp_path: Path) -> None:
    """The tests in `examples/fastapi_tested.py` pass against a fake node."""
    for package in ("fastapi", "httpx", "pytest_asyncio"):
        pytest.importorskip(package)
    query = "SELECT name FROM users WHERE key = 1"
    with FakeNode() as node:
        node.prime(query, rows([("name", "text")], [("Ada",)]))
        process = subprocess.run(
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
        assert "1 passed" in process.stdout, process.stdout + process.stderr


def recipe() -> str:
    """Return the code of the cookbook's recipe for readiness, up to the recipe's first `assert`."""
    cookbook = (ROOT / "docs" / "cookbook.rst").read_text()
    section = cookbook[cookbook.index("Health and readiness") :]
    _, _, code = section[section.index(".. code-block:: python") :].partition("\n\n")
    return textwrap.dedent(code[: code.index("   assert is_ready()")])


@pytest.mark.parametrize("fault", ["pause", "stop"])
def test_the_readiness_recipe_does_not_flap(fault: str) -> None:
    """The recipe reports "ready" although one of three nodes has stopped or does not respond.

    It must report "not ready" when requests fail because too few replicas are left.
    """
    probe = "SELECT id FROM notes WHERE owner = 'nobody' LIMIT 1"
    with FakeCluster(3) as nodes:
        nodes.prime(probe, rows(NOTES[:1], []))
        with Cluster(nodes.contact_points, port=nodes.port) as cluster:
            namespace: dict[str, Any] = {
                "cluster": cluster,
                "session": cluster.connect(wait_for_all_pools=True),
            }
            exec(recipe(), namespace)
            is_ready = namespace["is_ready"]
            assert is_ready()
            getattr(nodes[0], fault)()
            assert [is_ready() for _ in range(9)] == [True] * 9
            # Simulate that only one of three replicas is up. The recipe reads with LOCAL_QUORUM,
            # which needs two replicas, so the coordinator returns the error UNAVAILABLE.
            nodes.prime(probe, error(ErrorCode.UNAVAILABLE))
            assert not is_ready()
            if fault == "pause":
                nodes[0].resume()
