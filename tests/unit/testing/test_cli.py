"""The command ``python -m cassandra.testing``: mistakes, usage, status."""

from __future__ import annotations

import json

import pytest

from cassandra.testing.cli import main
from cassandra.testing.registry import Entry

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["start", "-n", "2", "--dc", "a=1"], "exclude each other"),
        (["start", "--dc", "a=x"], "expected NAME=NODES"),
        (["start", "--dc", "a=1", "--dc", "a=2"], "a is given twice"),
        (["start", "--dc", "east:2"], "expected NAME=NODES"),
        (["start", "--config", "num_tokens"], "expected KEY=VALUE"),
        (["start", "--name", "../up"], "not a name for a cluster"),
        (["start", "--version", "2.0"], "cannot be run"),
        (["restart", "1", "2"], "no cluster named 'default' is running"),
        (["kill", "1"], "no cluster named 'default' is running"),
        (["stop", "--name", "x"], "start --name x"),
        (["status", "--name", "x"], "no cluster named 'x'"),
    ],
)
def test_command_line_errors(
    capfd: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    """For a mistake in the arguments, the command exits with 1 and says what is wrong."""
    assert main(arguments) == 1
    assert message in capfd.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [[], ["start", "-n", "0"], ["kill"], ["kill", "x"], ["restart"], ["start", "--tls", "maybe"]],
)
def test_command_line_usage(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    """For arguments that do not fit its usage, the command exits with 2 and shows the usage."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: python -m cassandra.testing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ([], "for example: python -m cassandra.testing start"),
        (["start", "3"], "for 3 nodes, write python -m cassandra.testing start -n 3"),
        (["start", "1"], "for 1 node, write python -m cassandra.testing start -n 1"),
        (["kill", "1", "2"], "kill takes one node at a time"),
        (["startt"], "did you mean start?"),
        (["start", "--nods", "3"], "did you mean --nodes?"),
        (["up"], "write python -m cassandra.testing start"),
        (["nodetool", "status"], "write python -m cassandra.testing nodetool 1 status"),
        (["start", "--port", "99999"], "expected a port from 1 to 65535, got '99999'"),
        (["start", "two"], "write python -m cassandra.testing start --name two"),
        (["stop", "two"], "write python -m cassandra.testing stop --name two"),
        (["logs"], "write the number that `status` shows: python -m cassandra.testing logs 1"),
    ],
)
def test_usage_errors_say_what_to_write(
    capsys: pytest.CaptureFixture[str], arguments: list[str], advice: str
) -> None:
    """For misspellings, and for arguments of other tools, the error says what to write."""
    with pytest.raises(SystemExit):
        main(arguments)
    assert advice in capsys.readouterr().err


def test_the_name_of_a_cluster_behind_the_node_gets_advice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All arguments after the number of the node belong to nodetool, so --name must precede it."""
    assert main(["nodetool", "1", "status", "--name", "two"]) == 1
    assert "write --name before 1" in capsys.readouterr().err


def test_status_with_nothing_and_after_an_unexpected_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`status` reports a cluster that ended unexpectedly once, and removes it from the registry."""
    assert main(["status"]) == 0
    assert capsys.readouterr().out == "no cluster is running\n"
    # A running cluster holds the lock of its registry entry. Nobody holds the lock of this entry.
    Entry("lost").write({"name": "lost"})
    assert main(["status"]) == 0
    assert "lost: ended unexpectedly" in capsys.readouterr().err
    assert Entry("lost").read() is None
    assert main(["status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.parametrize("timeout", ["-1", "0", "nan", "inf", "soon"])
def test_a_timeout_that_makes_no_sense_is_refused(
    timeout: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--timeout` must be a finite number of seconds above 0."""
    with pytest.raises(SystemExit):
        main(["start", "--timeout", timeout])
    assert f"expected a number of seconds above 0, got '{timeout}'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "advice"),
    [("up", "start"), ("down", "stop"), ("ps", "status"), ("log", "logs 1"), ("dance", None)],
)
def test_commands_of_other_tools_get_advice(
    capsys: pytest.CaptureFixture[str], command: str, advice: str | None
) -> None:
    """A command of another tool, such as `up`, is refused with the matching command of this tool.

    For a word without a matching command, such as `dance`, the error has no advice.
    """
    with pytest.raises(SystemExit):
        main([command])
    output = capsys.readouterr().err
    assert "invalid choice: " in output
    if advice is None:
        assert "; write" not in output
    else:
        assert output.endswith(f"; write python -m cassandra.testing {advice}\n")
