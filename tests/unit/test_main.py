"""Tests of ``python -m cassandra``, which lists the commands, and of their help."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile

import pytest

from cassandra.__main__ import COMMANDS, main

pytestmark = pytest.mark.slow

NAMES = re.findall(r"python -m (cassandra\.\w+) ", COMMANDS)


def output_of(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``python -m`` with these arguments.

    ``-m`` imports from the current folder first. So use a folder other than that of the sources,
    which may have no compiled modules.
    """
    with tempfile.TemporaryDirectory() as directory:
        return subprocess.run(
            [sys.executable, "-m", *arguments],
            capture_output=True,
            text=True,
            cwd=directory,
            timeout=120,
            check=False,
        )


def test_the_commands_are_listed() -> None:
    assert output_of("cassandra").stdout == f"{COMMANDS}\n"
    assert len(NAMES) == 4


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_lists_the_commands(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word]) == 0
    assert capsys.readouterr().out == f"{COMMANDS}\n"


def test_other_words_are_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    """A script that writes ``cassandra doctor`` must not go on as if the doctor had found nothing.

    The error says how to execute the command.
    """
    result = output_of("cassandra", "doctor", "10.0.0.1")
    assert (result.returncode, result.stdout) == (2, "")
    assert "executes no command: write python -m cassandra.doctor\n" in result.stderr
    assert main(["docter"]) == 2
    assert "executes no command\n\nturbocql" in capsys.readouterr().err


@pytest.mark.parametrize("name", NAMES)
def test_a_command_explains_itself(name: str) -> None:
    """``-h`` must describe the command; without arguments, the error must have an example."""
    usage = output_of(name, "-h")
    assert usage.returncode == 0
    assert usage.stdout.startswith(f"usage: python -m {name} ")
    mistake = output_of(name)
    assert mistake.returncode == 2
    assert re.search(rf"example: python -m {re.escape(name)} \w", mistake.stderr), mistake.stderr
