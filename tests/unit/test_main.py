"""Tests of ``python -m cassandra``, which lists the commands, and of their help."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile

import pytest

from cassandra.__main__ import COMMANDS

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


@pytest.mark.parametrize("name", NAMES)
def test_a_command_explains_itself(name: str) -> None:
    """``-h`` must describe the command; without arguments, the error must have an example."""
    usage = output_of(name, "-h")
    assert usage.returncode == 0
    assert usage.stdout.startswith(f"usage: python -m {name} ")
    mistake = output_of(name)
    assert mistake.returncode == 2
    assert re.search(rf"example: python -m {re.escape(name)} \w", mistake.stderr), mistake.stderr
