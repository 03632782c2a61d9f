"""Test what `benchmarks._lib.report` prints and writes for every benchmark."""

from __future__ import annotations

import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks._lib import bars
from benchmarks._lib.page import page_of, page_with
from benchmarks._lib.report import Benchmark, Progress
from benchmarks._lib.tables import Table, least_over, shown

# The microseconds of each driver in two cases. The drivers are called ours, theirs and others.
ROWS: dict[str, dict[str, float | None]] = {
    "insert": {"ours": 5.0, "theirs": 50.0, "others": 40.0},
    "page": {"ours": 1234.5, "theirs": None},
}


@pytest.fixture(autouse=True)
def _no_quick_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the settings that ``--quick`` leaves in the environment for child processes."""
    monkeypatch.setenv("TURBOCQL_BENCH_QUICK", "")


def benchmark() -> Benchmark:
    """Return a benchmark with invented texts."""
    return Benchmark(
        "Help.\n\n    code\n", "Inserts, us", duration_text="2 minutes", quick_duration_text="5 s"
    )


def test_a_table_has_a_row_per_case_a_column_per_driver_and_ratios_last() -> None:
    ratios = least_over(ROWS, "ours", ("theirs", "others"))
    assert ratios == {"insert": 8.0}
    assert Table("us", ROWS, {"peer / ours": ratios}).lines() == [
        "us       ours  theirs  others  peer / ours",
        "------  -----  ------  ------  -----------",
        "insert      5      50      40            8",
        "page    1,234       -       -            -",
    ]


def test_a_case_that_others_lack_is_compared_with_their_case_of_the_same_work() -> None:
    rows = {"add": {"ours": 2.0, "theirs": 9.0}, "add_many": {"ours": 1.0}}
    ratios = least_over(rows, "ours", ("theirs",), {"add_many": "add"})
    assert ratios == {"add": 4.5, "add_many": 9.0}


def test_a_column_of_ratios_without_values_is_left_out() -> None:
    assert "peer" not in "\n".join(Table("us", ROWS, {"peer / ours": {}}).lines())


def test_a_table_is_the_same_after_json() -> None:
    table = Table("us", ROWS, {"peer / ours": {"insert": 8.0}})
    assert Table.from_json(json.loads(json.dumps(table.as_json()))).lines() == table.lines()


def test_figures_have_about_three_digits() -> None:
    cases: list[tuple[float | None, str]] = [
        (None, "-"),
        (12345.6, "12,346"),
        (12.34, "12.3"),
        (1.234, "1.23"),
        (0.01234, "0.0123"),
    ]
    for value, text in cases:
        assert shown(value) == text


def test_the_first_line_has_the_title_and_the_expected_duration(
    capsys: pytest.CaptureFixture[str],
) -> None:
    benchmark().start([])
    assert capsys.readouterr().out == "Inserts, us: about 2 minutes\n"
    benchmark().start(["--quick"])
    assert capsys.readouterr().out == "Inserts, us: about 5 s (--quick)\n"


def test_quick_replaces_only_defaults_not_given_options() -> None:
    for arguments, expected in ((["--quick"], 1), (["--quick", "--rounds", "2"], 2), ([], 9)):
        bench = benchmark()
        bench.add_option("--rounds", type=int, default=9)
        assert bench.start(arguments, quick={"rounds": 1}).rounds == expected


def test_a_missed_target_changes_the_exit_status_only_with_check(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for arguments, status in (([], 0), (["--check"], 1)):
        bench = benchmark()
        bench.start(arguments)
        bench.add_target("insert: 5 us, at most 6", True)
        bench.add_target("page: 9 us, at most 8", False)
        assert bench.end() == status
    out = capsys.readouterr().out
    assert "insert: 5 us, at most 6: met\npage: 9 us, at most 8: MISSED" in out


def test_the_json_has_the_tables_and_a_page_is_made_from_it(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    bench = benchmark()
    bench.start(["--json", str(path)])
    bench.show_table("us", ROWS, {"peer / ours": {"insert": 8.0}})
    bench.end()
    report = json.loads(path.read_text())
    assert report["tables"][0]["rows"][0] == {
        "case": "insert",
        "values": ROWS["insert"],
        "ratios": {"peer / ours": 8.0},
    }
    page = page_of([{**report, "command": "python benchmarks/some.py"}])
    assert "``python benchmarks/some.py``" in page
    assert "   insert,5,50,40,8\n" in page


def test_new_figures_replace_those_of_the_same_script(tmp_path: Path) -> None:
    """A section of a page is replaced by the section of a later run of the same script.

    The new section says when it was measured. The sections of other scripts remain.
    """
    path = tmp_path / "figures.json"
    bench = benchmark()
    bench.start(["--json", str(path)])
    bench.show_table("us", ROWS)
    bench.end()
    report = json.loads(path.read_text())
    page = page_of([{**report, "command": f"python benchmarks/{n}.py"} for n in ("a", "c")])
    report["tables"][0]["rows"][0]["values"]["ours"] = 7.0
    for name in ("c", "b", "c"):
        page = page_with(page, [{**report, "command": f"python benchmarks/{name}.py"}])
    commands = [line for line in page.splitlines() if line.startswith("``")]
    assert commands == [f"``python benchmarks/{name}.py``" for name in "abc"]
    figures = [line for line in page.splitlines() if line.startswith("   insert,")]
    assert figures == ["   insert,5,50,40", "   insert,7,50,40", "   insert,7,50,40"]
    assert page.count("Measured, on ") == 3  # once for the whole page, and for b and c


def test_the_progress_bar_appears_only_in_terminals() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    file, terminal = io.StringIO(), Terminal()
    for out in (file, terminal):
        bar = Progress(4, out)
        bar.step("one")
        bar.step("two")
        bar.clear()
    assert file.getvalue() == ""
    assert "1/4" in terminal.getvalue()
    assert "two" in terminal.getvalue()
    # These characters erase the line of the bar.
    assert terminal.getvalue().endswith("\r\033[K")


def test_bars_are_labelled_and_as_long_as_their_values() -> None:
    table = Table("us", {"insert, 100 in flight": {"aio": 2.0, "cassandra-driver": 50.0}})
    root = ElementTree.fromstring(bars.svg(table))
    labels = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"turbocql, asyncio", "2", "cassandra-driver", "50"} <= set(labels)
    widths = [float(bar.get("width", 0)) for bar in root.iter("{http://www.w3.org/2000/svg}rect")]
    # The bars are for 2 and 50, so the second bar is 25 times as long.
    assert widths[1] == pytest.approx(25 * widths[0], rel=0.01)
    assert bars.of_reports([{"command": "python benchmarks/rows.py", "tables": []}]) is None
