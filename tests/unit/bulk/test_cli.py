"""Test ``python -m cassandra.bulk``, whose options become arguments of session methods."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.bulk import LoadError, LoadReport, RowFailure, cli
from cassandra.bulk.copy import CopyReport
from cassandra.bulk.unload import UnloadReport
from cassandra.errors import NoHostAvailable


class Calls:
    """A fake cluster and session, which replaces `Cluster` in the command line program.

    It records the settings of the cluster. The attribute `method_calls` has the arguments of each
    load, unload and count: the table, the second argument ("count" for a count), and the options. A
    load returns `outcome`, or raises it if it is an exception.
    """

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}
        self.method_calls: list[tuple[Any, ...]] = []
        self.outcome: Any = LoadReport("ks.t", read=3, written=3, seconds=1.0)

    def __call__(self, **settings: Any) -> Calls:
        self.settings = settings
        return self

    def __enter__(self) -> Calls:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def connect(self) -> Calls:
        """Return this object itself, because it also acts as the session."""
        return self

    def unload(self, table: str, folder: str, **options: Any) -> UnloadReport:
        self.method_calls.append((table, folder, options))
        return UnloadReport(3)

    def count(self, table: str, **options: Any) -> int:
        self.method_calls.append((table, "count", options))
        return 42

    def load(self, table: str, files: list[str], **options: Any) -> Any:
        self.method_calls.append((table, files, options))
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Replace `Cluster` in the command line program by an object that records its calls."""
    recorder = Calls()
    monkeypatch.setattr(cli, "Cluster", recorder)
    return recorder


def test_a_load_with_default_options(calls: Calls, capsys: pytest.CaptureFixture[str]) -> None:
    """`load` with default options calls the session's method with the table and the files."""
    assert cli.main(["load", "ks.t", "a.csv", "b.csv"]) == 0
    assert calls.settings == {
        "contact_points": ["127.0.0.1"],
        "port": 9042,
        "ssl_context": None,
        "compression": False,
    }
    ((table, files, options),) = calls.method_calls
    assert table == "ks.t"
    assert files == ["a.csv", "b.csv"]
    assert options == {"header": True, "counters": False, "dry_run": False}
    assert "3 rows written to ks.t" in capsys.readouterr().out


def test_all_options(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each option of the command becomes an argument of `load`, or a setting of the cluster."""
    monkeypatch.setenv("SECRET", "word")
    command = """load ks.t a.csv --hosts 10.0.0.1 10.0.0.2 --port 9999 --user ada
        --password-env SECRET --columns id,n=total --format csv --no-header --delimiter ; --quote '
        --null NULL --date-format %d.%m.%Y --timestamp-format %c --batch none --concurrency 7
        --consistency-level local_quorum --timeout 5.5 --ttl 60 --timestamp 5 --counters
        --max-errors -1 --failed-rows failed --checkpoint point --dry-run --no-progress"""
    assert cli.main(command.split()) == 0
    assert calls.settings["contact_points"] == ["10.0.0.1", "10.0.0.2"]
    assert calls.settings["auth_provider"].username == "ada"
    ((_, _, options),) = calls.method_calls
    # "--batch none" becomes None, and "--max-errors -1" becomes None, which means no limit.
    assert options == {
        "columns": {"id": "id", "n": "total"}, "format": "csv", "header": False, "delimiter": ";",
        "quote": "'", "null": "NULL", "date_format": "%d.%m.%Y", "timestamp_format": "%c",
        "batch": None, "concurrency": 7, "timeout": 5.5,
        "consistency_level": ConsistencyLevel.LOCAL_QUORUM,
        "ttl": 60, "timestamp": 5, "counters": True, "max_errors": None, "failed_rows": "failed",
        "checkpoint": "point", "dry_run": True, "progress": False,
    }  # fmt: skip


def test_options_that_may_be_repeated(calls: Calls) -> None:
    """An option that is repeated, or has values separated by commas, becomes a list."""
    command = (
        "load ks.t - --format csv --null NULL --null NA --ignore a,b --encoding latin-1 "
        "--date-format %d/%m/%Y --date-format %Y-%m-%d"
    )
    assert cli.main([*command.split(), "--checkpoint", "point", "--restart"]) == 0
    ((_, source, options),) = calls.method_calls
    # "-" stands for the standard input.
    assert source == ["-"]
    assert options["null"] == ["NULL", "NA"]
    assert options["ignore"] == ["a", "b"]
    assert options["encoding"] == "latin-1"
    assert options["restart"] is True


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib came with Python 3.11")
def test_a_file_of_options(
    calls: Calls, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Options are read from the TOML file of `--config`; options on the command line override them.

    Unknown options and files that are not valid TOML are refused.
    """
    path = tmp_path / "load.toml"
    path.write_text('hosts = ["10.0.0.1"]\nport = 9999\nmax_errors = 5\ncolumns = ["id", "n"]\n')
    assert cli.main(["load", "ks.t", "a.csv", "--config", str(path), "--port=9043"]) == 0
    assert calls.settings["contact_points"] == ["10.0.0.1"]
    assert calls.settings["port"] == 9043
    assert calls.method_calls[0][2]["columns"] == ["id", "n"]
    # Options on the command line override the file, also if they are negated (`--no-header`) or
    # abbreviated (`--max-err`).
    path.write_text("header = true\nprogress = true\nmax_errors = 5\nport = 9999\n")
    command = ["load", "ks.t", "a.csv", "--config", str(path)]
    assert cli.main([*command, "--no-header", "--no-progress", "--max-err", "7"]) == 0
    options = calls.method_calls[1][2]
    assert options["header"] is False
    assert options["progress"] is False
    assert options["max_errors"] == 7
    assert calls.settings["port"] == 9999
    for text, message in (
        ('password = "x"', "has an unknown option 'password'"),
        ("maxerrors = 5", "has an unknown option 'maxerrors'; did you mean 'max_errors'?"),
        ("max-errors = 5", "has an unknown option 'max-errors'; did you mean 'max_errors'?"),
        ('hosts = "a"', "hosts is a list of strings, but is 'a': write hosts = [\"a\"]"),
        ('table = "x"', "has an unknown option 'table'"),
        ("port =", "Invalid value"),
    ):
        path.write_text(text)
        with pytest.raises(SystemExit) as caught:
            cli.main(["load", "ks.t", "a.csv", "--config", str(path)])
        assert caught.value.code == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["move"], "invalid choice: 'move'"),
        (["copy", "ks.t"], "the following arguments are required: OTHER_TABLE"),
        (["unload", "ks.t"], "the following arguments are required: FOLDER"),
        (["load", "ks.t"], "the following arguments are required: FILE"),
        ([], "for example: python -m cassandra.bulk load shop.orders orders.csv --hosts"),
        (["count"], "for example: python -m cassandra.bulk count shop.orders --hosts 10.0.0.1"),
        (["load", "--hosts", "a", "ks.t", "x.csv"], "the option takes all words that follow"),
        (["load", "ks.t", "a", "--concurrency", "0"], "concurrency must be an integer from 1 on"),
        (["load", "ks.t", "a", "--consistency-level", "most"], "there is no consistency level 'most'"),  # noqa: E501
        (["load", "ks.t", "a", "--user", "u", "--password-env", "NOT_SET"], "no variable 'NOT_SET'"),  # noqa: E501
        (["load", "ks.t", "a", "--cafile", "/nowhere"], "No such file"),
    ],
)  # fmt: skip
def test_wrong_commands_exit_with_status_2(
    calls: Calls, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    """A wrong command prints its error, calls no method of the session, and exits with 2."""
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
    assert calls.method_calls == []


def test_the_unload_command(calls: Calls, capsys: pytest.CaptureFixture[str]) -> None:
    """The options of the command become arguments of `unload`; the report is printed as JSON."""
    command = "unload ks.t out --format csv --compression gzip --columns a,b --where a>1"
    assert cli.main([*command.split(), "--consistency-level", "one", "--json"]) == 0
    assert calls.method_calls == [
        (
            "ks.t",
            "out",
            {
                "format": "csv",
                "compression": "gzip",
                "columns": ["a", "b"],
                "where": "a>1",
                "consistency_level": ConsistencyLevel.ONE,
            },
        )
    ]
    assert json.loads(capsys.readouterr().out)["rows"] == 3


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib came with Python 3.11")
def test_an_error_says_which_of_its_options_are_in_the_file(
    calls: Calls, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error that names the argument `null` is printed with `--null` and the file that set it."""
    path = tmp_path / "load.toml"
    path.write_text('null = ["NULL"]\nmax_errors = 5\n')
    calls.outcome = ValueError("null= is an option for CSV")
    assert cli.main(["load", "ks.t", "a.jsonl", "--config", str(path)]) == 1
    error = f"error: --null is an option for CSV ({path} sets null)\n"
    assert capsys.readouterr().err == error


@pytest.fixture
def copies(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list to which each call of `copy` is appended.

    A call is recorded as the two tables, the settings of the cluster that was connected last, and
    the options.
    """
    copy_calls: list[Any] = []

    def copy(session: Any, table: str, other: Any, other_table: str, **options: Any) -> CopyReport:
        copy_calls.append((table, other_table, dict(calls.settings), options))
        return CopyReport(1234, 1234, 50, 2.0)

    monkeypatch.setattr(cli, "copy", copy)
    return copy_calls


def test_the_option_compress_compresses_requests(calls: Calls) -> None:
    """Only with `--compress` are the requests compressed."""
    assert cli.main(["count", "ks.t"]) == 0
    assert calls.settings["compression"] is False
    assert cli.main(["count", "ks.t", "--compress"]) == 0
    assert calls.settings["compression"] is True


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib came with Python 3.11")
def test_columns_of_a_copy_may_be_a_list_in_a_file(copies: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "options.toml"
    path.write_text('columns = ["x", "y"]\n')
    assert cli.main(["copy", "a.t", "b.t", "--config", str(path)]) == 0
    assert copies[0][3]["columns"] == ["x", "y"]


def test_copies_in_one_cluster(copies: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    """The options of a copy within one cluster become arguments of `copy`; a report is printed."""
    assert cli.main(["copy", "a.t", "b.t", "--keep-ttl", "--columns", "x, y", "--dry-run"]) == 0
    # A recorded call is the two tables, the settings of the cluster, and the options.
    (call,) = copies
    assert call[:2] == ("a.t", "b.t")
    assert call[2]["contact_points"] == ["127.0.0.1"]
    assert call[3] == {
        "keep_ttl": True,
        "keep_write_time": False,
        "dry_run": True,
        "columns": ["x", "y"],
    }
    assert "1,234 rows read, 1,234 written in 2.0 s" in capsys.readouterr().out


def test_copies_into_another_cluster(
    copies: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The options `--to-*` become settings of the target cluster; no password is printed."""
    monkeypatch.setenv("FAR", "secret")
    (tmp_path / "password").write_text("here\n")
    source_options = [
        "--hosts",
        "10.0.0.1",
        "--user",
        "me",
        "--password-file",
        str(tmp_path / "password"),
    ]
    target_options = [
        "--to-hosts", "10.1.0.1", "--to-port", "9142", "--to-user", "you", "--to-password-env",
    ]  # fmt: skip
    assert cli.main(["copy", "a.t", "b.t", *source_options, *target_options, "FAR", "--json"]) == 0
    # These are the settings of the cluster that was connected last, which is the target.
    ((_, _, settings, _),) = copies
    assert settings["contact_points"] == ["10.1.0.1"]
    assert settings["port"] == 9142
    assert settings["auth_provider"].username == "you"
    assert settings["auth_provider"].password == "secret"
    output = capsys.readouterr().out
    assert json.loads(output)["written"] == 1234
    assert "secret" not in output
    with pytest.raises(SystemExit):
        cli.main(
            ["copy", "a.t", "b.t", "--to-hosts", "b", "--to-user", "x", "--to-password-env", "Y"]
        )
    assert "the environment has no variable 'Y'" in capsys.readouterr().err


def test_the_count_command(calls: Calls, capsys: pytest.CaptureFixture[str]) -> None:
    """`count` passes its options to the session's method, and prints the number or JSON."""
    assert cli.main(["count", "ks.t", "--page-size", "7", "--splits", "9"]) == 0
    assert calls.method_calls == [("ks.t", "count", {"page_size": 7, "splits": 9})]
    assert capsys.readouterr().out == "42\n"
    assert cli.main(["count", "ks.t", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"rows": 42}


def test_exit_codes_and_reports(calls: Calls, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 1 if a row or the whole load failed.

    The report goes to stdout, and an error to stderr in one line.
    """
    command = ["load", "ks.t", "a.csv", "--checkpoint", "point"]
    report = LoadReport("ks.t", read=3, written=2, seconds=1.0)
    report.note_failure(RowFailure("a.csv, line 3", ValueError("wrong")))
    # The fake `load` returns this outcome, or raises it if it is an exception.
    calls.outcome = report
    assert cli.main([*command, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["failures"] == ["a.csv, line 3: wrong"]
    calls.outcome = LoadError("a.csv, line 3: wrong", report)
    assert cli.main(command) == 1
    output = capsys.readouterr()
    assert "2 rows written" in output.out
    assert output.err == "error: a.csv, line 3: wrong\n"
    for error in (
        NoHostAvailable("nobody is there", errors={}),
        FileNotFoundError("no file"),
        ValueError("x"),
    ):
        calls.outcome = error
        assert cli.main(command) == 1
        assert capsys.readouterr().err.startswith("error: ")
    # If an earlier run of a load that is resumed has failed rows, these are not in the table.
    calls.outcome = LoadReport("ks.t", read=1, written=1, skipped=2, skipped_failed=1)
    assert cli.main(command) == 1
    calls.outcome = LoadReport("ks.t", read=1, written=1, skipped=2)
    assert cli.main(command) == 0
    capsys.readouterr()
    calls.outcome = KeyboardInterrupt()
    assert cli.main(command) == 1
    assert capsys.readouterr().err == "stopped; run the same command again to go on\n"


def test_options_of_the_file_format(calls: Calls, capsys: pytest.CaptureFixture[str]) -> None:
    """Options of the format are passed to `unload`, and refused if the format lacks them."""
    csv_options = ["--no-header", "--delimiter", ";", "--null", "NULL", "--encoding", "latin-1"]
    assert cli.main(["unload", "ks.t", "out", "--format", "csv", *csv_options]) == 0
    assert calls.method_calls[0][2] == {
        "format": "csv",
        "header": False,
        "delimiter": ";",
        "null": "NULL",
        "encoding": "latin-1",
    }
    with pytest.raises(SystemExit):
        # Without --format, the format is Parquet.
        cli.main(["unload", "ks.t", "out", *csv_options])
    assert "delimiter is not an option of the format 'parquet'" in capsys.readouterr().err


def test_a_tab_is_written_with_a_backslash(calls: Calls) -> None:
    r"""`--delimiter \t` on the command line means the tab character."""
    assert cli.main(["load", "ks.t", "a.csv", "--delimiter", r"\t"]) == 0
    assert cli.main(["unload", "ks.t", "out", "--format", "csv", "--delimiter", r"\t"]) == 0
    assert [call[2]["delimiter"] for call in calls.method_calls] == ["\t", "\t"]


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (("-header", "true"), "write --no-header if there is none"),
        (("-h", "10.0.0.1", "-header", "false"), None),
        (("--ttl", "1d"), "write seconds, such as 86400 for a day"),
        (("--timestamp", "now"), "write microseconds since 1970, such as $(date +%s)000000"),
        (("--max-errors", "all"), "-1 means no limit"),
        (("--format", "json"), "JSON is read and written as lines, jsonl"),
    ],
)
def test_values_that_no_option_takes_get_advice(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], advice: str | None
) -> None:
    """The error for a wrong value of an option ends with advice on what to write."""
    with pytest.raises(SystemExit) as exit_:
        cli.main(["load", "ks.t", "a.csv", *arguments])
    output = capsys.readouterr()
    if advice is None:  # -h shows the help
        assert exit_.value.code == 0
        assert output.out.startswith("usage:")
    else:
        assert exit_.value.code == 2
        assert output.err.endswith(f"; {advice}\n")


def test_a_keyspace_and_a_table_as_two_words(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error for "ks t" says to write "ks.t" if no file is named "t"."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        cli.main(["load", "ks", "t", "a.csv"])
    assert "no file is named 't': for a table, write ks.t" in capsys.readouterr().err


def test_the_limit_is_passed_on_and_progress_is_shown_on_terminals(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`unload` passes `--limit` on, and shows its progress on a terminal unless forbidden."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert cli.main(["unload", "ks.t", "out", "--limit", "5"]) == 0
    assert cli.main(["unload", "ks.t", "out", "--limit", "5", "--no-progress"]) == 0
    assert [options for _, _, options in calls.method_calls] == [
        {"limit": 5, "progress": True},
        {"limit": 5},
    ]


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (
            ["load", "a", "b", "--rate", "5"],
            "there is no rate limit: write a small --concurrency N",
        ),
        (["load", "a", "b", "-k", "ks", "-url", "a.csv"], "the table is the first argument, as k"),
        (["load", "a.b", "a.csv", "--null-value", "x"], "x; write --null TEXT"),
        (["copy", "a.b", "a.c", "--query", "x"], "write the table, and --where or --columns"),
    ],
)
def test_unknown_options_get_their_counterparts(
    arguments: list[str], advice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error for an option of cqlsh or DSBulk names the matching option of this program."""
    with pytest.raises(SystemExit):
        cli.main(arguments)
    assert advice in capsys.readouterr().err


def test_hosts_may_be_separated_by_commas(calls: Calls) -> None:
    """The hosts after `--hosts` may be separated by commas and by spaces."""
    assert cli.main(["count", "ks.t", "--hosts", "10.0.0.1,10.0.0.2", "10.0.0.3"]) == 0
    assert calls.settings["contact_points"] == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib came with Python 3.11")
def test_options_with_no_may_be_in_a_file(
    calls: Calls, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a file of options, `no_header = true` has the effect of `--no-header`.

    Values other than true and false are refused.
    """
    path = tmp_path / "load.toml"
    path.write_text("no_progress = true\nno_header = true\n")
    assert cli.main(["load", "ks.t", "a.csv", "--config", str(path)]) == 0
    (call,) = calls.method_calls
    assert call[2]["progress"] is False
    assert call[2]["header"] is False
    path.write_text("no_progress = 1\n")
    with pytest.raises(SystemExit):
        cli.main(["load", "ks.t", "a.csv", "--config", str(path)])
    assert "no_progress is true or false, but is 1" in capsys.readouterr().err


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib came with Python 3.11")
@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("load ks.t a.csv", "counters dry_run restart compress json ssl no_hostname_check header"),
        ("unload ks.t out", "compress json ssl progress header"),
        ("copy ks.t ks.u", "keep_ttl keep_write_time dry_run compress json to_ssl progress"),
        ("count ks.t", "compress json ssl progress"),
    ],
)
def test_switches_in_a_file_are_true_or_false(
    calls: Calls,
    copies: list[Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
    names: str,
) -> None:
    """If the value of a switch is a string, it is refused: "false" would be true for Python."""
    path = tmp_path / "options.toml"
    for name in names.split():
        path.write_text(f'{name} = "false"\n')
        with pytest.raises(SystemExit):
            cli.main([*command.split(), "--config", str(path)])
        # An option in several words is named as on the command line.
        message = capsys.readouterr().err.replace("-", "_")
        assert f"{name} is true or false, but is 'false'" in message
    assert not calls.method_calls
    assert not copies
    path.write_text('header = ["id", "n"]\n')
    if command.startswith("load"):
        assert cli.main([*command.split(), "--config", str(path)]) == 0


COMMANDS = ["load ks.t a.csv", "unload ks.t out", "copy ks.t ks.u --to-hosts b", "count ks.t"]
# Values of the types that a TOML file can have.
TOML_VALUES = ["5", "true", "[]", "[1]", '["a"]', '{a = "b"}', "2026-01-01"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib came with Python 3.11")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("value", TOML_VALUES)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_no_value_in_a_file_ends_in_a_traceback(
    calls: Calls,
    copies: list[Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    value: str,
) -> None:
    """An option whose value in a TOML file has a wrong type is refused in one line of text."""
    monkeypatch.setattr("getpass.getpass", lambda *prompts: "word")
    path = tmp_path / "options.toml"
    arguments = [*command.split(), "--config", str(path)]
    _, parsers = cli._parser()
    for action in parsers[arguments[0]]._actions:
        if action.dest.startswith("_") or action.dest in {"help", *cli._NOT_IN_FILES}:
            continue
        path.write_text(f"{action.dest} = {value}\n")
        try:
            status: Any = cli.main(arguments)
        except SystemExit as error:
            status = error.code
        assert status in (0, 1, 2)
        last_lines = capsys.readouterr().err.splitlines()[-1:]
        assert status == 0 or "error: " in last_lines[0], (action.dest, last_lines)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib came with Python 3.11")
@pytest.mark.parametrize(
    ("command", "line", "expected"),
    [
        ("unload ks.t out", "decimals = [38]", "decimals is a precision and a scale, as [38, 10]"),
        ("unload ks.t out", "decimals = [3.5, 1]", "decimals is a precision and a scale"),
        ("unload ks.t out", "null = ['a']", "null is a string"),
        ("unload ks.t out", "columns = [1]", "columns is a string or a list of strings"),
        ("unload ks.t out", "columns = {a = 'b'}", "columns is a string or a list of strings"),
        ("load ks.t a.csv", "columns = {a = 1}", "columns is a table of column names"),
        ("load ks.t a.csv", "ignore = 5", "ignore is a string or a list of strings"),
        ("load ks.t a.csv", "header = [1]", "header is true or false"),
        ("load ks.t a.csv", "max_errors = true", "max_errors is a whole number"),
        ("load ks.t a.csv", "ttl = 1.5", "ttl is a whole number"),
        ("count ks.t", "timeout = [1]", "timeout is a number"),
        ("count ks.t", "hosts = [1]", "hosts is a list of strings"),
        ("count ks.t", "user = 5", "user is a string"),
        ("count ks.t", "cafile = 5", "cafile is a string"),
    ],
)
def test_values_of_a_wrong_type_in_a_file_name_the_option(
    calls: Calls, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    command: str, line: str, expected: str,
) -> None:  # fmt: skip
    """The error says what the value of the option should be."""
    path = tmp_path / "options.toml"
    path.write_text(line + "\n")
    with pytest.raises(SystemExit) as caught:
        cli.main([*command.split(), "--config", str(path)])
    assert caught.value.code == 2
    assert expected in capsys.readouterr().err.replace("--", "").replace("max-e", "max_e")
    assert not calls.method_calls


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib came with Python 3.11")
@pytest.mark.parametrize(
    ("command", "name", "value", "expected"),
    [
        ("unload ks.t out", "decimals", "[38, 10]", (38, 10)),
        ("unload ks.t out", "decimals", '"38,10"', (38, 10)),
        ("unload ks.t out", "decimals", '"text"', "text"),
        ("unload ks.t out", "page_size", '"7"', 7),
        ("unload ks.t out", "columns", '["a", "b"]', ["a", "b"]),
        ("unload ks.t out", "columns", '"a, b"', ["a", "b"]),
        ("load ks.t a.csv", "columns", '["a", "b"]', ["a", "b"]),
        ("load ks.t a.csv", "columns", '{field = "c"}', {"field": "c"}),
        ("load ks.t a.csv", "ignore", '["a", "b"]', ["a", "b"]),
        ("load ks.t a.csv", "null", '["", "NULL"]', ["", "NULL"]),
        ("count ks.t", "timeout", "5", 5),
    ],
)
def test_values_in_a_file_may_be_of_each_type_of_the_function(
    calls: Calls, tmp_path: Path, command: str, name: str, value: str, expected: object
) -> None:
    """Lists and tables of a TOML file are passed to the function as they are."""
    path = tmp_path / "options.toml"
    path.write_text(f"{name} = {value}\n")
    assert cli.main([*command.split(), "--config", str(path)]) == 0
    assert calls.method_calls[0][2][name] == expected


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("export", "write python -m cassandra.bulk unload shop.orders orders-folder"),
        ("import", "write python -m cassandra.bulk load shop.orders orders.csv"),
        ("shop.orders", "the command comes first, then the table"),
    ],
)
def test_commands_of_other_tools_get_advice(
    capsys: pytest.CaptureFixture[str], command: str, advice: str
) -> None:
    """The error for a command of another tool, such as "export", names the matching command."""
    with pytest.raises(SystemExit):
        cli.main([command, "a.csv"])
    assert f"; {advice}" in capsys.readouterr().err


def test_a_process_without_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If a process has no standard error, its errors are not printed to the standard output.

    Otherwise, they would be among the results.
    """
    monkeypatch.setattr(sys, "stderr", None)
    arguments = ["count", "ks.t", "--hosts", "127.0.0.1", "--port", "1"]
    assert cli.main(arguments) == 1
    assert capsys.readouterr().out == ""
