"""Tests of `_command_words`, which expresses messages of the library in the words of a command."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from typing import Any

import pytest

from cassandra._command_words import CommandWords, run_command
from cassandra.bulk import cli as bulk
from cassandra.doctor import cli as doctor
from cassandra.migrate import cli as migrate
from cassandra.testing import cli as testing
from tests.processes import run_python

OPTIONS = {
    "max_errors": "--max-errors",
    "columns": "--columns",
    "delimiter": "--delimiter",
    "counters": "--counters",
    "limit": "--limit",
    "ttl": "--ttl",
    "ttl_column": "--ttl-column",
    "compression": "--compression",
    "decimals": "--decimals",
    "ignore": "--ignore",
    "timeout": "--timeout",
    "where": "--where",
    "format": "--format",
}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "max_errors must be an integer from 0 on, but is -2; None is for no limit",
            "--max-errors must be an integer from 0 on, but is -2; -1 is for no limit",
        ),
        ("ttl and ttl_column exclude each other", "--ttl and --ttl-column exclude each other"),
        ("columns= maps fields to columns", "--columns maps fields to columns"),
        ("write columns={'x': 'k', 'v': 'v w'}", "write --columns 'x=k,v=v w'"),
        ("write ignore=['a', 'b'] or limit=...", "write --ignore a,b or --limit ..."),
        ("with delimiter=';'?", "with --delimiter ';'?"),
        ("write decimals=(10, 2), or limit=5", "write --decimals 10,2, or --limit 5"),
        ("counters=True has no effect", "--counters has no effect"),
        ("limit is a number from 1 on, not 0 (int)", "--limit is a number from 1 on, not 0 (int)"),
        (
            "compression of csv is None or 'gzip', not 'foo'",
            "--compression of csv is gzip, or left out, not 'foo'",
        ),
        (
            "write format='csv', 'jsonl' or 'parquet'",
            "write --format csv, jsonl or parquet",
        ),
        (
            "where= has 1 bind marker, and parameters= has 0 values: write where='column > ?', "
            "parameters=[5]",
            "--where has 1 bind marker, and a command has no values for it: write --where "
            "'column > 5', with the value",
        ),
        # Values, columns and other words must stay unchanged.
        ("column 'max_errors' is not a limit", "column 'max_errors' is not a limit"),
        ('the table has no column "ttl_column"', 'the table has no column "ttl_column"'),
        ("the timeout of a query", "the timeout of a query"),
        ("f.max_errors.csv cannot be read", "f.max_errors.csv cannot be read"),
        ("max_errors.csv, line 2: bad", "max_errors.csv, line 2: bad"),
        ("old/max_errors: line 2: bad", "old/max_errors: line 2: bad"),
        ("columns={[1]: 2} is bad", "--columns {[1]: 2} is bad"),
        ("unknown_option must be left out", "unknown_option must be left out"),
        (
            "n1:9042 asks for authentication (X), and no auth_provider is configured",
            "n1:9042 asks for authentication (X), and --user is not given",
        ),
    ],
)
def test_parameters_become_options(message: str, expected: str) -> None:
    assert CommandWords(OPTIONS).translate(message) == expected


def test_options_for_each_value_are_repeated() -> None:
    parser = argparse.ArgumentParser()
    action: Any = parser.add_argument("--null", action="append")
    action.is_repeated = True
    words = CommandWords.of([parser])
    assert words.translate("add it to null=, as null=['', 'N/A']") == (
        "add it to --null, as --null '' --null N/A"
    )
    # A report shows values of the user's data, which need not be literals of Python.
    assert words.translate("line 2: no number: null=[a b]") == "line 2: no number: --null [a b]"
    assert words.translate("null=[] is empty") == "--null '' is empty"


def test_the_words_of_a_parser_are_its_long_options() -> None:
    """The name of an option must become the option; `help` and other arguments stay unchanged."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("-m", "--max-errors")
    parser.add_argument("--no-header", dest="header", action="store_false")
    words = CommandWords.of([parser])
    assert (
        words.translate("header= and max_errors= differ") == "--no-header and --max-errors differ"
    )
    assert words.translate("help must be given, file is missing") == (
        "help must be given, file is missing"
    )


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("load ks.t a.csv --max-errors -2", "--max-errors must be an integer from 0 on, but is -2"),
        ("load ks.t a.csv --timeout 0", "--timeout is a number of seconds above 0"),
        ("load ks.t a.csv --quote ab", "--quote must be one character, but is 'ab'"),
        ("load ks.t a.csv --restart", "--restart is for loads with a checkpoint"),
        ("unload ks.t out --format jsonl --null x", "--null is not an option of the format"),
        ("count ks.t --port 99999", "--port must be a number from 1 to 65535, but is 99999"),
        ("count ks.t --hosts n1:9142", "host 'n1:9142' has a port: write n1 --port 9142"),
        ("count ks.t --user u --password-file /no/such", "/no/such cannot be read: No such file"),
    ],
)
def test_errors_of_bulk_commands_name_options_as_they_are_typed(
    arguments: str, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error of the library must name the command's options instead of the parameters."""
    with pytest.raises(SystemExit):
        bulk.main(arguments.split())
    assert error in capsys.readouterr().err


@pytest.mark.parametrize("heap", ["5", "5k", "big"])
def test_errors_of_the_testing_command_name_options(
    heap: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        testing.main(["start", "--heap", heap])
    assert "error: argument --heap: heap must be " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("10.0.0.1:9042", "host '10.0.0.1:9042' has a port: write 10.0.0.1 --port 9042"),
        ("[::1]:9042", "host '[::1]:9042' has a port: write ::1 --port 9042"),
        ("n1,n2", "host 'n1,n2' is a list: write n1 n2\n"),
        ("n1 --user u --password p", "arguments of a command: write --password-env NAME for"),
        ("n1 --user u --password=p", "arguments of a command: write --password-env NAME for"),
        ("n1 --user u --password", "argument --password: expected one argument"),
        ("http://n1:80/path", "host 'http://n1:80/path' is a URL: write n1 --port 80"),
        ("http://n1", "host 'http://n1' is a URL: write n1\n"),
        ("n1 --port 0", "--port must be a number from 1 to 65535, but is 0"),
    ],
)
def test_hosts_and_ports_are_checked(
    arguments: str, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        doctor.main(arguments.split())
    assert error in capsys.readouterr().err


@pytest.mark.parametrize("main", [bulk.main, doctor.main, migrate.main, testing.main])
@pytest.mark.parametrize("word", ["-hosts", "-header=true"])
def test_words_that_begin_like_the_option_for_help_are_no_such_option(
    main: Callable[[list[str]], int], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Words such as -hosts must be refused, and not be taken for -h.

    A script must not take the help, with status 0, for the success of the command.
    """
    with pytest.raises(SystemExit) as exit_:
        main([word, "10.0.0.1"])
    assert exit_.value.code == 2
    assert f"error: unrecognized arguments: {word}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("main", "arguments", "advice"),
    [
        (bulk.main, ["cuont", "shop.orders"], "; did you mean count?"),
        (bulk.main, ["load", "t", "f.csv", "--delimeter", ";"], "; did you mean --delimiter?"),
        (doctor.main, ["--usr", "ada"], "; did you mean --user?"),
        (migrate.main, ["chekk"], "; did you mean check?"),
        (testing.main, ["start", "--verzion", "5"], "; did you mean --version?"),
        (doctor.main, ["--xyz"], "unrecognized arguments: --xyz\n"),
    ],
)
def test_misspelt_commands_and_options_are_recognized(
    main: Callable[[list[str]], int],
    arguments: list[str],
    advice: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The error for a misspelt command or option must suggest the nearest one, if there is one."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert advice in capsys.readouterr().err


def test_a_reader_that_ends_early_ends_the_command() -> None:
    """If a reader ends early, the command must end without a traceback.

    For example, a terminal may show only the first lines.
    """
    program = (
        "import os, sys\n"
        "from cassandra._command_words import run_command\n"
        "read_end, write_end = os.pipe()\n"
        "os.dup2(write_end, sys.stdout.fileno())\n"
        "os.close(read_end)\n"
        "sys.exit(run_command(lambda: print('a line') or 0))\n"
    )
    process = run_python(program)
    assert process.returncode == 1
    assert process.stderr == ""


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_characters_that_the_output_lacks_are_escaped(encoding: str) -> None:
    """A report is printed if standard output is not UTF-8, as on Windows, or in an old locale.

    The command ended with UnicodeEncodeError, and its report was lost.
    """
    program = (
        "import sys\n"
        "from cassandra._command_words import run_command\n"
        "def main():\n"
        "    print('b\\xe4d\\u65e5, \\udcff')\n"
        "    return 3\n"
        "sys.exit(run_command(main))\n"
    )
    process = run_python(program, {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "1"}, as_file=True)
    assert process.stderr == ""
    assert process.returncode == 3
    assert process.stdout.endswith("\\udcff\n")
    if encoding == "ascii":
        assert process.stdout == "b\\xe4d\\u65e5, \\udcff\n"


@pytest.mark.parametrize("command", ["bulk", "doctor", "migrate", "testing"])
def test_each_command_escapes_the_characters_that_the_output_lacks(command: str) -> None:
    """Each command is run by `run_command`."""
    module = importlib.import_module(f"cassandra.{command}.__main__")
    assert vars(module)["run_command"] is run_command


def test_the_exit_code_of_a_command_is_its_own() -> None:
    assert run_command(lambda: 7) == 7
