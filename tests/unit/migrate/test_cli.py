"""Test the command ``python -m cassandra.migrate``: its paths, formats and exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cassandra.migrate.cli import main
from tests.processes import run_python
from tests.unit.migrate.programs import CLEAN

UPGRADING = Path(__file__).parents[3] / "docs" / "upgrading.rst"


def test_without_a_path_the_error_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["check"]):
        with pytest.raises(SystemExit) as system_exit:
            main(arguments)
        assert system_exit.value.code == 2
        assert "python -m cassandra.migrate check src tests" in capsys.readouterr().err


def test_wrong_arguments_exit_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong arguments make the command exit with 2, and the message says what is wrong."""
    rows = tmp_path / "rows.csv"
    rows.write_text("id,name\n")
    for arguments, message in (
        (["check", str(tmp_path / "gone")], "there is no file or folder"),
        (["check", str(tmp_path)], "there are no Python files"),
        (["check", str(rows)], "rows.csv is not a Python file: name the files or folders"),
        (["check", "--format", "xml", str(tmp_path)], "invalid choice"),
        (["list"], "invalid choice"),
        (["check", str(tmp_path), "--json"], "--json; write --format json"),
        (["check", str(tmp_path), "--fix"], "--fix; the command changes no files"),
        (["fix", str(tmp_path)], "the command changes no files"),
    ):
        with pytest.raises(SystemExit) as system_exit:
            main(arguments)
        assert system_exit.value.code == 2
        assert message in capsys.readouterr().err


def test_without_the_subcommand_the_error_shows_the_full_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If the word `check` is missing, the error shows the command with this word."""
    for arguments, command in (
        (["p/a.py"], "check p/a.py"),
        (["p/a b.ipynb", "--format", "json"], "check 'p/a b.ipynb' --format json"),
        ([str(tmp_path)], f"check {tmp_path}"),
    ):
        with pytest.raises(SystemExit) as system_exit:
            main(arguments)
        assert system_exit.value.code == 2
        assert f"error: write python -m cassandra.migrate {command}\n" in capsys.readouterr().err


def test_the_command_prints_findings_and_exits_with_0_1_or_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command prints its findings, and exits with 0, 1 or 2.

    The exit code is 1 if a finding breaks the program, and 2 if a file could not be read.
    """
    path = tmp_path / "a.py"
    path.write_text(CLEAN)
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().out == "1 file: 0 break, 0 differ, 0 to note\n"
    path.write_text("import acsylla")
    (tmp_path / "b.py").write_text("import cassandra (")
    assert main(["check", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert printed.err == (
        "python -m cassandra.migrate: 1 file was not read, so the exit code is 2\n"
    )
    lines = printed.out.splitlines()
    assert lines[0] == f"{path}:1:8: note: acsylla [other-drivers]"
    assert lines[-2].startswith(f"{tmp_path / 'b.py'}:1: not read: ")
    assert lines[-1] == "2 files, 1 not read: 0 break, 0 differ, 1 to note"
    (tmp_path / "b.py").write_bytes(b"# cassandra \xff")
    main(["check", str(tmp_path)])
    assert f"\n{tmp_path / 'b.py'}: not read: " in capsys.readouterr().out
    path.write_text("import cassandra.nothing")
    assert main(["check", str(path)]) == 1


def test_a_difference_is_explained_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.py").write_text("import cassandra.nothing\nimport cassandra.more")
    main(["check", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert ":1:8: " in lines[0]
    assert lines[1].startswith("    ")
    assert ":2:8: " in lines[-2]
    assert sum(line.startswith("    To do: ") for line in lines) == 1


def test_the_json_report_contains_findings_and_unreadable_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The JSON report contains the findings and the unreadable files.

    Because a file is unreadable, the exit code is 2.
    """
    path = tmp_path / "a.py"
    path.write_text("import cassandra.nothing")
    (tmp_path / "b.py").write_text("import cassandra (")
    assert main(["check", "--format", "json", str(tmp_path)]) == 2
    report = json.loads(capsys.readouterr().out)
    (finding,) = report["findings"]
    assert [finding[name] for name in ("path", "line", "column", "severity", "difference")] == [
        str(path), 1, 8, "breaks", "missing-names",
    ]  # fmt: skip
    # The strings must not contain reStructuredText markup.
    assert "`" not in finding["what"] + finding["why"] + finding["do"]
    assert report["counts"] == {"breaks": 1, "differs": 0, "note": 0}
    assert report["files"] == 2
    assert report["not_read"][0]["line"] == 1


@pytest.mark.slow
def test_the_checked_files_are_not_executed(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import cassandra\nopen('was_run', 'w')")
    process = run_python(
        f"import runpy, sys; sys.argv[1:] = ['check', {str(tmp_path)!r}];"
        "runpy.run_module('cassandra.migrate', run_name='__main__')"
    )
    assert process.returncode == 0, process
    # The checked program would create a file. The file does not exist, so the check has not run the
    # program.
    assert [path.name for path in tmp_path.iterdir()] == ["a.py"]


def test_the_documentation_quotes_the_command_s_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The upgrade guide quotes exactly what the command prints for the program in the guide."""
    page = UPGRADING.read_text()
    # The page quotes a program, and the command's output for it. Both are indented.
    program_text, quoted_output = (
        re.sub(r"^   ", "", match, flags=re.M).strip("\n")
        for match in re.search(
            r"``shop\.py``::\n\n(.*?)\nThe command prints::\n\n(.*?)\n\S", page, re.S
        ).groups()  # type: ignore[union-attr]
    )
    (tmp_path / "shop.py").write_text(program_text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["check", "shop.py"]) == 1
    assert capsys.readouterr().out.strip() == quoted_output.strip()
