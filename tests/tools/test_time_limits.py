"""Tests of tests/time_limits.py, which must end a test that never ends.

It must also print the stacks of all threads, to show where the test hangs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import WITH_TESTS

# The conftest.py and the test module that pytest runs in a separate process.
CONFTEST = """
from tests import time_limits
from tests.conftest import pytest_timeout_cancel_timer, pytest_timeout_set_timer
time_limits._INTERVAL = 0.05
"""
TESTS = """
import threading
def test_that_ends(): pass
def test_that_never_ends(): threading.Event().wait()
"""


@pytest.mark.slow
def test_a_test_that_never_ends_is_ended(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_these.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:asyncio", "-p", "no:cacheprovider"]
    result = subprocess.run(
        [*command, "--timeout", "3", "--timeout-method", "thread", tmp_path],
        capture_output=True,
        text=True,
        env={**os.environ, **WITH_TESTS},
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    assert result.returncode == 1
    assert "test_that_ends PASSED" in result.stdout
    assert "Timeout" in result.stdout
    assert "in test_that_never_ends" in result.stdout + result.stderr
