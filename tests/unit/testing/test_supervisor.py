"""No process of a supervisor outlives the process that started the supervisor.

The tests use dummy processes instead of Cassandra.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cassandra.testing.errors import LocalClusterError
from cassandra.testing.processes import Supervisor
from tests.waiting import until

# A dummy program. It starts a sleeping process, prints that process's id, and sleeps itself.
DUMMY = (
    "import subprocess, time; print(subprocess.Popen(['sleep', '600']).pid, flush=True); "
    "time.sleep(600)"
)
# A program that starts a supervisor with a dummy process, prints the ids of all processes, and
# waits. Its arguments are the directory that the supervisor has to remove, and "plain" or "fork".
PARENT = f"""
import json, os, sys, threading, time
from cassandra.testing.processes import Supervisor
supervisor = Supervisor()
supervisor.cleanup(sys.argv[1])
pids = []
def spawn():
    command = [sys.executable, "-c", {DUMMY!r}]
    pids.append(supervisor.spawn(command, cwd="/", output=sys.argv[1] + "/out"))
# The death signal is bound to the thread that forks: this one ends.
thread = threading.Thread(target=spawn)
thread.start()
thread.join()
while not (output := open(sys.argv[1] + "/out").read()).endswith("\\n"):
    time.sleep(0.01)
pids += [int(output), supervisor.pid]
if "fork" in sys.argv:
    pids.append(os.fork())  # a child that keeps our end of the socket open
    if pids[-1] == 0:
        time.sleep(60)
        os._exit(0)
print(json.dumps(pids), flush=True)
sys.stdin.read()
"""


def has_ended(pid: int) -> bool:
    """Wait up to 20 seconds for a process to end, and return whether it has ended.

    The process need not be a child of this process.
    """
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 20)[0])
    finally:
        os.close(descriptor)


@pytest.mark.slow
@pytest.mark.parametrize("start_method", ["plain", "fork"])
def test_everything_ends_when_the_parent_is_killed(tmp_path: Path, start_method: str) -> None:
    """If the parent is killed, the supervisor ends its processes and removes their directory.

    This works even if a fork of the parent keeps the connection to the supervisor open.
    """
    directory = tmp_path / "data"
    directory.mkdir()
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", PARENT, str(directory), start_method],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as parent:
        assert parent.stdout is not None
        child, grandchild, supervisor, *forked = json.loads(parent.stdout.readline())
        os.kill(parent.pid, signal.SIGKILL)
        assert has_ended(supervisor)
        assert has_ended(child)
        assert has_ended(grandchild)
        # A fork of the parent is not a process of the supervisor, so the test has to end it.
        for pid in forked:
            os.kill(pid, signal.SIGKILL)
    assert not directory.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the death signal is Linux's")
def test_everything_ends_when_the_supervisor_is_killed(tmp_path: Path) -> None:
    """If the supervisor is killed, Linux sends its processes the death signal they requested."""
    supervisor = Supervisor()
    pid = supervisor.spawn(["sleep", "600"], cwd="/", output=str(tmp_path / "out"))
    os.kill(supervisor.pid, signal.SIGKILL)
    assert has_ended(pid)
    with pytest.raises(LocalClusterError, match=f"process {supervisor.pid}.* is gone"):
        supervisor.poll(pid)
    supervisor.close()


def test_close_ends_all_and_removes_the_directories(tmp_path: Path) -> None:
    """`close` ends the processes of the supervisor, and removes the directories it cleans up."""
    directory = tmp_path / "data"
    (directory / "deep").mkdir(parents=True)
    with Supervisor() as supervisor:
        supervisor.cleanup(str(directory))
        pid = supervisor.spawn(["sleep", "600"], cwd=str(directory), output=str(directory / "out"))
        assert supervisor.poll(pid) is None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not directory.exists()
    supervisor.close()  # A second call has no effect.


def test_stopped_process_can_be_ended(tmp_path: Path) -> None:
    """`close` also ends a process that was paused by SIGSTOP."""
    with Supervisor() as supervisor:
        pid = supervisor.spawn(["sleep", "600"], cwd="/", output=str(tmp_path / "out"))
        assert supervisor.signal(pid, signal.SIGSTOP)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the states of threads from /proc")
def test_a_process_has_stopped_when_the_signal_is_answered(tmp_path: Path) -> None:
    """When the supervisor has responded to SIGSTOP, no thread of the process is running any more.

    Otherwise a paused node could still respond to another request.
    """
    program = tmp_path / "threads.py"
    program.write_text(
        "import threading\n"
        "def turn():\n"
        "    while True: threading.Event().wait(0.001)\n"
        "for _ in range(50): threading.Thread(target=turn).start()\n"
        "open('ready', 'w').close()\n"
    )
    with Supervisor() as supervisor:
        pid = supervisor.spawn(
            [sys.executable, str(program)], cwd=str(tmp_path), output=str(tmp_path / "out")
        )
        until(lambda: (tmp_path / "ready").exists())
        for _ in range(20):
            assert supervisor.signal(pid, signal.SIGSTOP)
            states = [
                stat.read_text().rpartition(")")[2].split()[0]
                for stat in Path(f"/proc/{pid}/task").glob("*/stat")
            ]
            # The main thread and the 50 other threads are stopped ("T").
            assert states == ["T"] * 51
            # The supervisor also responds if the process was stopped before.
            assert supervisor.signal(pid, signal.SIGSTOP)
            assert supervisor.signal(pid, signal.SIGCONT)
