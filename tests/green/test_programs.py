"""Tests of the examples for Locust, gunicorn and gevent, which run against a fake node."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import textwrap
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from cassandra.testing.fake import FakeNode

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TIMEOUT = 60.0  # seconds

# The tests start programs in the folder of the examples. `python -m` looks for packages in the
# current directory first, so in the root of the clone it would import the clone's package, which
# may not be compiled.


@pytest.fixture
def node() -> Iterator[FakeNode]:
    with FakeNode() as fake_node:
        yield fake_node


def environment(node: FakeNode) -> dict[str, str]:
    """Return environment variables with which the examples connect to `node`."""
    return {**os.environ, "CASSANDRA": node.address, "CASSANDRA_PORT": str(node.port)}


@contextmanager
def run_gunicorn(node: FakeNode) -> Iterator[str]:
    """Run the application of examples/gunicorn_gevent.py in two processes; yield its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", "--worker-class", "gevent", "--workers", "2",
               "--bind", f"127.0.0.1:{port}", "--chdir", str(EXAMPLES),
               "gunicorn_gevent:app"]  # fmt: skip
    with subprocess.Popen(
        command, env=environment(node), stderr=subprocess.PIPE, text=True, cwd=EXAMPLES
    ) as process:
        try:
            address = f"http://127.0.0.1:{port}/"
            deadline = time.monotonic() + TIMEOUT
            # The loop runs until the application responds.
            while True:
                try:
                    urllib.request.urlopen(address, timeout=TIMEOUT).close()
                    break
                except OSError:
                    assert process.poll() is None, process.stderr and process.stderr.read()
                    assert time.monotonic() < deadline
                    time.sleep(0.05)
            yield address
        finally:
            process.terminate()
            process.wait(TIMEOUT)


def fetch_version(address: str) -> str:
    """Return the node's version, which the application reads with a query for each request."""
    with urllib.request.urlopen(address, timeout=TIMEOUT) as response:
        version: str = json.load(response)["version"]
        return version


def test_gunicorn_answers_200_requests(node: FakeNode) -> None:
    with run_gunicorn(node) as address, ThreadPoolExecutor(20) as pool:
        versions = set(pool.map(fetch_version, [address] * 200))
    assert versions == {node.release_version}


def test_the_program_of_the_guide_to_greenlets_runs_without_warnings(
    node: FakeNode, tmp_path: Path
) -> None:
    """The program of the page makes 100 reads.

    The test adds a line that prints their number.
    """
    guide = (EXAMPLES.parent / "docs" / "greenlets.rst").read_text()
    # The program ends before the paragraph that begins with "Callbacks of".
    _, code_and_rest = guide.split(".. code-block:: python\n\n")
    code = textwrap.dedent(code_and_rest.split("\n\nCallbacks of")[0])
    assert "Cluster()" in code
    constructor = f"Cluster([{node.address!r}], port={node.port})"
    program = tmp_path / "program.py"
    program.write_text(code.replace("Cluster()", constructor) + "\nprint(len(reads))\n")
    result = subprocess.run(
        [sys.executable, "-W", "error", program], capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout == "100\n"


def test_locust_reports_requests_and_no_failures(node: FakeNode) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "locust", "--headless", "--users", "100", "--spawn-rate", "100",
         "--run-time", "5s", "--stop-timeout", "10", "--only-summary",
         "-f", str(EXAMPLES / "locustfile.py")],
        env=environment(node), capture_output=True, text=True, timeout=120, check=False,
        cwd=EXAMPLES,
    )  # fmt: skip
    output = result.stdout + result.stderr
    assert result.returncode == 0, output
    totals = re.search(r"Aggregated\s+(?P<requests>\d+)\s+(?P<failures>\d+)\(", output)
    assert totals is not None, output
    # The 100 users have sent requests for five seconds.
    assert int(totals["requests"]) > 200
    assert int(totals["failures"]) == 0
