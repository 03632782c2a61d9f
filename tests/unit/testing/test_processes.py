"""The output, status and end of processes that a `Supervisor` starts."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cassandra.testing.errors import CommandFailed, LocalClusterError
from cassandra.testing.processes import Supervisor, last_messages, read_text, tail
from tests.waiting import until


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    """Yield a supervisor, and end its processes after the test."""
    with Supervisor() as new_supervisor:
        yield new_supervisor


def test_exit_status_and_signal(supervisor: Supervisor, tmp_path: Path) -> None:
    """`wait` returns the exit status, or the negated number of the signal that ended the process.

    `wait` returns None if the process has not ended within the timeout (seconds).
    """
    out = str(tmp_path / "out")
    pid = supervisor.spawn(["sh", "-c", "exit 3"], cwd="/", output=out)
    assert supervisor.wait(pid, timeout=20) == 3
    # The process has already ended, so `signal` returns False.
    assert supervisor.signal(pid, signal.SIGTERM) is False
    pid = supervisor.spawn(["sleep", "600"], cwd="/", output=out)
    assert supervisor.wait(pid, timeout=0) is None
    supervisor.signal(pid, signal.SIGTERM)
    assert supervisor.wait(pid, timeout=20) == -signal.SIGTERM


def test_run_returns_the_output_or_raises_with_it(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`run` returns the output of both streams, or raises an error with it.

    The error has the exit status, or None after a timeout. `run` removes JAVA_TOOL_OPTIONS from the
    environment, because Java would print a line about this variable.
    """
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xmx1M")
    script = "echo $GIVEN-$JAVA_TOOL_OPTIONS-; echo error >&2"
    output = supervisor.run(
        ["sh", "-c", script],
        cwd="/",
        output=str(tmp_path / "one"),
        timeout=20,
        env={"GIVEN": "x"},
    )
    assert output == "x--\nerror\n"
    with pytest.raises(CommandFailed, match=r"(?s)sh ended with status 2.*oh no") as caught:
        supervisor.run(
            ["sh", "-c", "echo oh no; exit 2"], cwd="/", output=str(tmp_path / "two"), timeout=20
        )
    assert caught.value.code == 2
    assert caught.value.output == "oh no\n"
    with pytest.raises(CommandFailed, match="sleep did not end within 0 s") as caught:
        supervisor.run(["sleep", "600"], cwd="/", output=str(tmp_path / "three"), timeout=0)
    assert caught.value.code is None


def test_run_ends_the_command_when_the_watch_raises(supervisor: Supervisor, tmp_path: Path) -> None:
    """`run` calls `watch` while it waits; if `watch` raises, the command is ended."""
    pid_file = tmp_path / "pid"

    def watch() -> None:
        # Wait until the shell has written its process id.
        if pid_file.exists() and pid_file.read_text().endswith("\n"):
            raise KeyboardInterrupt

    command = ["sh", "-c", f"echo $$ > {pid_file}; exec sleep 600"]
    with pytest.raises(KeyboardInterrupt):
        supervisor.run(command, cwd="/", output=str(tmp_path / "out"), timeout=60, watch=watch)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_a_missing_program_is_an_error(supervisor: Supervisor, tmp_path: Path) -> None:
    """If a program does not exist, the error names it, and the supervisor can still be used."""
    with pytest.raises(LocalClusterError, match="no-such-program"):
        supervisor.spawn(["/no-such-program"], cwd="/", output=str(tmp_path / "out"))
    assert supervisor.run(["true"], cwd="/", output=str(tmp_path / "out"), timeout=20) == ""


def test_the_files_of_commands_get_both_outputs_one_after_the_other(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    """`run` appends the command's output to the file, and uses the directory that is passed."""
    out = str(tmp_path / "out")
    for _ in range(2):
        supervisor.run(["pwd"], cwd=str(tmp_path), output=out, timeout=20)
    assert read_text(out) == f"{tmp_path}\n" * 2


def test_text_is_read_whatever_the_file_holds(tmp_path: Path) -> None:
    """`read_text` returns "" for a missing file, and replaces bytes that are not UTF-8."""
    assert read_text(str(tmp_path / "missing")) == ""
    path = tmp_path / "log"
    path.write_bytes(b"\xc3\xa9 \xff\n")
    assert read_text(str(path)) == "\u00e9 \ufffd\n"


def test_the_tail_has_the_last_lines() -> None:
    """`tail` returns the given number of lines, by default 40, without empty lines at the end."""
    log = "".join(f"{number}\n" for number in range(100))
    assert tail(log, 2) == "98\n99"
    assert tail(log + "\n \n", 1) == "99"
    assert tail(log).splitlines() == [str(number) for number in range(60, 100)]
    assert tail("") == ""


def test_a_command_that_takes_too_long_is_ended(supervisor: Supervisor, tmp_path: Path) -> None:
    """A command that exceeds its time limit is ended; the error has its output so far."""
    pid_file = tmp_path / "pid"
    command = ["sh", "-c", f"echo begun; echo $$ > {pid_file}; exec sleep 600"]

    def watch() -> None:
        # The time limit expires while `watch` waits for the command's file.
        until(lambda: pid_file.exists() and pid_file.read_text().endswith("\n"))

    out = str(tmp_path / "out")
    with pytest.raises(CommandFailed, match=r"sh did not end within 0 s:\nbegun") as caught:
        supervisor.run(command, cwd="/", output=out, timeout=0.1, watch=watch)
    assert caught.value.code is None
    assert caught.value.output == "begun\n"
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_threads_get_the_results_of_their_own_commands(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    """Eight threads share one supervisor, and each gets the results of its own commands."""

    def run(number: int) -> str:
        return supervisor.run(
            ["echo", str(number)], cwd="/", output=str(tmp_path / str(number)), timeout=60
        )

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, range(16))) == [f"{number}\n" for number in range(16)]


def test_a_supervisor_keeps_descriptors_open_until_it_ends(tmp_path: Path) -> None:
    """If a supervisor keeps a lock's descriptor, the lock lasts until its processes end.

    The descriptor in this test is one end of a pipe: the other end shows when no process has the
    descriptor open.
    """
    reader, writer = os.pipe()
    try:
        with Supervisor(keep=[writer]) as supervisor:
            assert supervisor.pid != os.getpid()
            os.close(writer)
            assert select.select([reader], [], [], 0)[0] == []
        assert os.read(reader, 1) == b""
    finally:
        os.close(reader)


def test_a_closed_supervisor_takes_no_commands(tmp_path: Path) -> None:
    """After `close`, `spawn` raises an error which says that the supervisor is gone."""
    supervisor = Supervisor()
    supervisor.close()
    supervisor.close()  # A second call has no effect.
    with pytest.raises(LocalClusterError, match=f"process {supervisor.pid}.* is gone"):
        supervisor.spawn(["true"], cwd="/", output=str(tmp_path / "out"))


def test_last_messages_say_why_a_node_ended() -> None:
    """`last_messages` returns the exceptions, errors and warnings of a log, without stack traces.

    `width` limits the characters of a line, and `lines` the number of lines.
    """
    reason = "ERROR [main] Exception encountered during startup: Batch sync specified"
    log = "\n".join(
        [
            "Exception (ConfigurationException) encountered during startup: Batch sync specified",
            "\tat org.apache.cassandra.Daemon.main(Daemon.java:887)",
            "INFO  [main] Node configuration:[" + "a=null; " * 2000,
            "",
            reason,
            "DEBUG [main] closing",
        ]
    )
    assert last_messages(log).splitlines() == [log.splitlines()[0], reason]
    # A log without errors or warnings is returned as it is, with long lines cut.
    assert last_messages("INFO a\nINFO b") == "INFO a\nINFO b"
    assert last_messages("INFO " + "x" * 900, width=10) == "INFO xxxxx..."
    assert last_messages("WARN a\nWARN b\nWARN c", lines=2) == "WARN b\nWARN c"
    assert last_messages("") == ""
