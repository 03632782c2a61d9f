"""The services and scripts in examples/ run in their frameworks, with a real node."""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cassandra.testing import LocalCluster
from tests.integration.conftest import connect
from tests.processes import HOME
from tests.waiting import until

pytestmark = pytest.mark.integration

EXAMPLES = Path(__file__).parents[2] / "examples"


def environment(node: LocalCluster) -> dict[str, str]:
    """Return environment variables with which the examples find the node."""
    return {
        **os.environ,
        "CASSANDRA_HOSTS": ",".join(node.contact_points),
        "PYTHONPATH": HOME,
    }


@contextmanager
def running_server(command: list[str], log: Path, settings: dict[str, str]) -> Iterator[None]:
    """Run a server during the `with` block, and check that its output has no traceback.

    :param log: the file for the server's output.
    :param settings: the environment variables of the server.
    """
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, env=settings, stdout=file, stderr=subprocess.STDOUT, cwd=log.parent
        )
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)
    assert b"Traceback" not in log.read_bytes(), log.read_text()


def free_port() -> int:
    """Return a port of 127.0.0.1 on which nothing listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def post(url: str) -> dict[str, Any]:
    """Send a POST request again and again until the server, which may be starting, responds.

    :returns: the JSON of the response.
    """
    last_error: OSError | None = None

    def post_once() -> Any:
        """Return the JSON of one response; None if the server does not respond."""
        nonlocal last_error
        request = urllib.request.Request(url, data=b"", method="POST")
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return json.load(response)
        except OSError as raised:
            last_error = raised
            return None

    content: dict[str, Any] = until(
        post_once,
        seconds=60,
        pause=0.05,
        reason=lambda: f"(the server does not answer: {last_error!r})",
    )
    return content


def test_fastapi(node: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The FastAPI service stores notes, returns them in pages, and refuses forged page tokens."""
    pytest.importorskip("fastapi")
    testclient = pytest.importorskip("fastapi.testclient")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    service = importlib.import_module("service_fastapi")
    app = service.create_app(node.contact_points, port=node.port)
    with testclient.TestClient(app) as http_client:
        for number in range(45):
            response = http_client.post("/notes/ada", json={"body": f"note {number}"})
            assert response.status_code == 200, response.text
        bodies, token, page_count = [], None, 0
        while page_count == 0 or token:
            parameters: dict[str, Any] = {"token": token} if token else {}
            page = http_client.get("/notes/ada", params=parameters).json()
            bodies += [note["body"] for note in page["notes"]]
            token = page["next"]
            page_count += 1
        # 45 notes in pages of 20 notes are three pages.
        assert page_count == 3
        assert bodies == [f"note {number}" for number in range(45)]
        assert http_client.get("/ready").json() == {"ready": True}
        for forged_token in ("Zm9yZ2Vk", "!!!", ""):
            assert http_client.get("/notes/ada", params={"token": forged_token}).status_code == 400


def test_flask_under_gunicorn(node: LocalCluster, tmp_path: Path) -> None:
    """The Flask service works in forked processes with several threads (``--preload``)."""
    pytest.importorskip("flask")
    pytest.importorskip("gunicorn")
    port = free_port()
    command = [
        sys.executable, "-m", "gunicorn", "--chdir", str(EXAMPLES), "--preload", "--workers", "2",
        "--threads", "4", "--bind", f"127.0.0.1:{port}", "service_flask:create_app()",
    ]  # fmt: skip
    with running_server(command, tmp_path / "gunicorn.log", environment(node)):
        visits = [post(f"http://127.0.0.1:{port}/visits/home") for _ in range(30)]
    # Each visit counts one more than the visit before, whichever server process handles it.
    assert [visit["count"] for visit in visits] == list(range(1, 31))


def test_celery(node: LocalCluster, tmp_path: Path) -> None:
    """A Celery worker with two processes executes all 20 tasks, each of which stores a mail."""
    pytest.importorskip("celery")
    for folder in ("queue", "processed"):
        (tmp_path / folder).mkdir()
    settings = {**environment(node), "CELERY_BROKER": "filesystem://"}
    (tmp_path / "celeryconfig.py").write_text(
        "broker_url = 'filesystem://'\n"
        "broker_transport_options = {'data_folder_in': 'queue', 'data_folder_out': 'queue',\n"
        "    'control_folder': 'processed'}\n"
    )
    settings["PYTHONPATH"] += os.pathsep + os.pathsep.join((str(tmp_path), str(EXAMPLES)))
    send_program = (
        "from worker_celery import app, send_mail; app.config_from_object('celeryconfig')\n"
        "for n in range(20): send_mail.delay(f'{n}@example.org', 'hello')"
    )
    worker_program = (
        "from worker_celery import app; app.config_from_object('celeryconfig')\n"
        "app.worker_main(['worker', '--pool', 'prefork', '-c', '2', '-l', 'INFO',\n"
        "    '--without-gossip', '--without-mingle', '--without-heartbeat'])"
    )
    subprocess.run(
        [sys.executable, "-c", send_program], env=settings, cwd=tmp_path, check=True, timeout=60
    )
    log = tmp_path / "celery.log"
    with (
        running_server([sys.executable, "-c", worker_program], log, settings),
        connect(node) as cluster,
        cluster.connect() as session,
    ):

        def all_mails() -> Any:
            """Return the stored mails when there are 20; before that, return None."""
            try:
                rows = session.execute("SELECT address FROM service.mails").all()
            except Exception:  # the worker may not have created the table yet
                return None
            return rows if len(rows) == 20 else None

        rows = until(all_mails, seconds=60, pause=0.1, reason=log.read_text)
    assert {row.address for row in rows} == {f"{n}@example.org" for n in range(20)}


def test_time_series_plots_a_day(node: LocalCluster, tmp_path: Path) -> None:
    """The example reads the 1,440 minutes of a day, and saves a picture in PNG format."""
    pytest.importorskip("matplotlib")
    picture = tmp_path / "day.png"
    process = subprocess.run(
        [sys.executable, str(EXAMPLES / "time_series.py"), "--contact-points",
         *node.contact_points, "--picture", str(picture)],
        env=environment(node), cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    assert "1,440 read; warmest at 1" in process.stdout  # at 13:00 or 14:00
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_observability_prints_spans_log_lines_and_metrics(
    node: LocalCluster, tmp_path: Path
) -> None:
    """The example prints a span for each request, sampled requests, and metrics with the error."""
    process = subprocess.run(
        [
            sys.executable,
            str(EXAMPLES / "observability.py"),
            "--contact-points",
            *node.contact_points,
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    output = process.stdout
    assert output.count("span INSERT observed.orders: INSERT INTO observed.orders") == 3
    assert (
        "span SELECT observed.orders: SELECT total FROM observed.orders WHERE customer = ?"
        in output
    )
    assert "[local_one, attempt] cassandra.InvalidRequest" in output
    assert output.count("log sampled request, ") >= 6
    assert "log invalid request, " in output
    assert 'cassandra_driver_requests_total{cluster="' in output
    assert 'outcome="InvalidRequest"} 1.0' in output


def test_the_quickstart(node: LocalCluster, tmp_path: Path) -> None:
    """The quickstart loads and reads 200 vectors, and prints the three nearest vectors."""
    if node.version.startswith(("3.", "4.")):
        pytest.skip("vectors came with Cassandra 5.0")
    process = subprocess.run(
        [sys.executable, str(EXAMPLES / "quickstart.py"), "--rows", "200", "--contact-points",
         *node.contact_points],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    assert "loaded   200 vectors" in process.stdout
    assert "read     200 rows" in process.stdout
    assert process.stdout.count("similarity 0.9") == 3
    assert "docs/tutorial.rst builds a small service" in process.stdout
