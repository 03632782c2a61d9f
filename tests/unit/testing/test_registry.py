"""The registry of named local clusters. Each entry has a state file, a lock and a socket."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from cassandra.testing.errors import LocalClusterError
from cassandra.testing.registry import Entry, all_entries, receive_line
from tests.waiting import WAIT

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize("name", ["", "../up", "-a", ".a", "a b", "a" * 65, "a/b", "a\n"])
def test_names_that_are_refused(name: str) -> None:
    """A name has 1 to 64 letters, digits, "_", "-" and ".", and begins with neither "-" nor "."."""
    with pytest.raises(ValueError, match="not a name for a cluster"):
        Entry(name)


def test_state_is_written_read_and_forgotten() -> None:
    """The registry stores a state for each name, and lists the names."""
    entry = Entry("one")
    assert entry.read() is None
    entry.write({"nodes": 3})
    Entry("two").write({})
    assert entry.read() == {"nodes": 3}
    assert [existing.name for existing in all_entries()] == ["one", "two"]
    entry.forget()
    # Forgetting the name a second time has no effect.
    entry.forget()
    assert entry.read() is None
    assert [existing.name for existing in all_entries()] == ["two"]


def test_a_damaged_state_file_is_ignored() -> None:
    """If the state file is not valid JSON, `read` returns None."""
    entry = Entry("one")
    entry.write({"nodes": 3})
    Path(entry.directory, "one.json").write_text('{"nodes":')
    assert entry.read() is None


def test_a_cluster_runs_while_its_lock_is_held() -> None:
    """A cluster is running while its process holds the lock of its registry entry."""
    entry, entry_of_cluster = Entry("one"), Entry("one")
    is_running_before = entry.running
    entry_of_cluster.lock.acquire()
    is_running_while_locked = entry.running
    entry_of_cluster.lock.release()
    assert not is_running_before
    assert is_running_while_locked
    assert not entry.running


@pytest.mark.parametrize(("name", "hint"), [("default", "start'?$"), ("x", "start --name x")])
def test_a_name_that_does_not_run(name: str, hint: str) -> None:
    """If the cluster is not running, the error has the command that starts it."""
    with pytest.raises(LocalClusterError, match=f"no cluster named '{name}' is running.*{hint}"):
        Entry(name).ask("status")


def ask_with_reply(reply: bytes) -> tuple[Any, Any]:
    """Send a command to a fake cluster that responds with `reply`.

    :returns: the command as it was received, and the result of the call or the string of its error.
    """
    entry = Entry("one")
    entry.lock.acquire()
    commands: list[Any] = []
    with entry.listen() as listener:
        # Only the same user may send commands to the cluster.
        mode = stat.S_IMODE(os.stat(Path(entry.directory, "one.sock")).st_mode)
        assert mode == 0o600

        def serve() -> None:
            with listener.accept()[0] as connection:
                commands.append(json.loads(receive_line(connection)))
                connection.sendall(reply)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            outcome: Any = Entry("one").ask("kill", 2)
        except LocalClusterError as error:
            outcome = str(error)
        thread.join(WAIT)
    entry.lock.release()
    return commands[0], outcome


def test_a_command_and_its_result() -> None:
    """`Entry.ask` sends a command with its arguments, and returns the result."""
    command, outcome = ask_with_reply(b'{"result": [1, 2]}\n')
    assert command == {"command": "kill", "arguments": [2]}
    assert outcome == [1, 2]


def test_an_error_of_the_cluster() -> None:
    """If the cluster reports an error, `Entry.ask` raises LocalClusterError with its message."""
    _, outcome = ask_with_reply(b'{"error": "no node 2"}\n')
    assert outcome == "no node 2"


def test_a_cluster_that_ends_before_it_answers() -> None:
    """If the cluster closes the connection without a response, the error says that it ended."""
    _, outcome = ask_with_reply(b"")
    assert "ended before it answered" in outcome


def test_a_cluster_that_is_just_starting() -> None:
    """A cluster that is still starting holds its lock, but accepts no commands."""
    entry = Entry("one")
    entry.lock.acquire()
    with pytest.raises(LocalClusterError, match="takes no commands"):
        Entry("one").ask("status")
    entry.lock.release()
