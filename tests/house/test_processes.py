"""`tests.processes` says what a process was doing that had to be killed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.processes import wait_for_end


@pytest.mark.skipif(sys.platform != "linux", reason="threads are read from /proc")
def test_a_process_that_does_not_end_is_described() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(AssertionError, match=r"after 0 s: state [SR], .*\d+ ticks"):
            wait_for_end(process, 0.01)
