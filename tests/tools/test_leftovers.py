"""Tests of the fixture of tests/leftovers.py, which fails a test that leaves something open.

The fixture must fail only the test that left it open, and not the tests after it. Each test here
writes a small test module into a folder, and runs pytest there.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.processes import WITH_TESTS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is open is read from /proc")

# The conftest.py of the written module. The fixture waits only 0.2 seconds until a resource is
# closed.
CONFTEST = """
from tests import leftovers
from tests.leftovers import nothing_is_left_open, watch
leftovers.PATIENCE = 0.2
watch()
"""
# The beginning of the written module. `held` keeps objects alive after their test.
IMPORTS = """
import asyncio, gc, socket, subprocess, sys, threading, time
held = []
go_on = threading.Event()
"""

# These are bodies of tests, by the resource that they leave open.
LEAVES_OPEN = {
    "socket": "held.append(socket.socket())",
    "cycle": "sockets = [socket.create_server(('127.0.0.1', 0))]; sockets.append(sockets)",
    "loop": "held.append(asyncio.SelectorEventLoop())",
    "thread": "threading.Thread(target=go_on.wait, name='sleeper', daemon=True).start()",
    "process": "held.append(subprocess.Popen(['cat'], stdin=subprocess.PIPE))",
    "file": "held.append(open(__file__))",
}
# These are bodies of tests, by the resource that they open and close.
CLOSES = {
    "socket": "socket.socket().close()",
    "loop": "asyncio.SelectorEventLoop().close()",
    "thread": "threading.Thread(target=time.sleep, args=(0.05,)).start()",
    "process": "subprocess.run(['true'])",
}


def run_tests(folder: Path, bodies: Mapping[str, str]) -> str:
    """Run pytest on a module with a test for each body, and return the report of pytest.

    Each of these tests is followed by a test that only collects garbage. It shows that the fixture
    blames the right test.

    :param folder: where the module is written.
    :param bodies: the bodies of the tests, by name.
    """
    lines = [IMPORTS]
    for name, body in bodies.items():
        lines.append(f"def test_{name}(): {body}\ndef test_after_{name}(): gc.collect()\n")
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_these.py").write_text("\n".join(lines))
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-W",
            "error",
            "-p",
            "no:asyncio",
            "-p",
            "no:cacheprovider",
            folder,
        ],
        capture_output=True,
        text=True,
        env={**os.environ, **WITH_TESTS},
        cwd=folder,
        timeout=120,
        check=False,
    )
    # The tests that collect garbage must pass even if all others fail.
    assert "passed" in result.stdout, result.stdout + result.stderr
    return result.stdout


@pytest.mark.slow
def test_each_test_that_leaves_something_open_fails_at_its_teardown(tmp_path: Path) -> None:
    report = run_tests(tmp_path, LEAVES_OPEN)
    # re.split returns what is before the first error, and then name, message, name, message.
    _, *names_and_messages = re.split(r"_+ ERROR at teardown of test_(\w+) _+", report)
    reports = dict(zip(names_and_messages[::2], names_and_messages[1::2], strict=True))
    assert list(reports) == list(LEAVES_OPEN)
    assert "<socket.socket fd=" in reports["socket"]
    assert "laddr=('127.0.0.1'" in reports["cycle"]
    assert "the collector says: unclosed <socket.socket" in reports["cycle"]
    assert "anon_inode:[eventpoll]" in reports["loop"]
    assert "thread 'sleeper', started in" in reports["thread"]
    assert re.search(r"process \d+ \(cat\)", reports["process"])
    assert "test_these.py (file number" in reports["file"]


@pytest.mark.slow
def test_closed_resources_are_not_reported(tmp_path: Path) -> None:
    report = run_tests(tmp_path, CLOSES)
    # After each body follows a test that collects garbage.
    count = 2 * len(CLOSES)
    assert f"{count} passed" in report
    assert "error" not in report
