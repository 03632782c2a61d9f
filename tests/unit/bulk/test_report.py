"""Test `LoadReport`, the result of a load, and its printed form."""

from __future__ import annotations

from cassandra.bulk.report import MOST_FAILURES, LoadReport, RowFailure
from cassandra.errors import NoHostAvailable, refused_everywhere
from cassandra.protocol.messages.errors import ServerError


def test_a_report_without_failures_is_one_line() -> None:
    """A report without failures is one line with the number of rows, the time and the rate.

    The rate is 0 if the load took zero seconds.
    """
    report = LoadReport("ks.t", read=2000, written=2000, seconds=2.0, bytes=9000, requests=200)
    assert str(report) == (
        "2,000 rows written to ks.t in 2.0 s (1,000 rows/s, 9,000 bytes, 200 requests)"
    )
    assert report.as_dict()["rows_per_second"] == 1000.0
    assert LoadReport("ks.t").rows_per_second == 0.0


def test_a_report_has_singulars_and_retries() -> None:
    """A report uses the singular for one row, and shows the number of retries."""
    report = LoadReport("ks.t", read=1, written=1, seconds=1.0, bytes=9, requests=1, retries=2)
    assert str(report) == (
        "1 row written to ks.t in 1.0 s (1 rows/s, 9 bytes, 1 request, 2 retried)"
    )


def test_a_failure_has_the_notes_of_its_error_without_the_statement() -> None:
    """The reason of a failure includes the notes of the server's error, but not the statement.

    The server's error may be nested in an error for all hosts. The note with the statement is the
    same for all rows, so it is left out.
    """
    server_error = ServerError(0, "NullPointerException")
    vars(server_error)["__notes__"] = ["(from host, executing INSERT)", "(nulls: element 1)"]
    of_all_hosts = refused_everywhere("no host is left", {"a": server_error}, server_error)
    no_host = NoHostAvailable("no host is left", {"a": server_error})
    for error in (server_error, of_all_hosts, no_host):
        assert RowFailure("row 1", error).reason == f"{error} (nulls: element 1)"


def test_failures_are_counted_and_the_first_are_kept() -> None:
    """A report counts all failures, keeps the first MOST_FAILURES of them, and prints ten."""
    report = LoadReport("ks.t", read=300)
    for row in range(300):
        report.note_failure(RowFailure(f"row {row}", ValueError("wrong")))
    assert report.failed == 300
    assert len(report.failures) == MOST_FAILURES
    lines = str(report).splitlines()
    assert lines[1:3] == ["300 rows failed:", "  row 0: wrong"]
    assert lines[-1] == "  ... and 290 more"
    assert report.as_dict()["failures"][0] == "row 0: wrong"


def test_a_report_shows_each_kind_of_failure() -> None:
    """A report shows each kind of failure, even if many failures of another kind precede it."""
    report = LoadReport("shop.orders")
    for line in range(1, 41):
        reason = {20: "column 'tags': 'x' is not JSON", 30: "3 fields, but the header has 8"}.get(
            line, f"column 'total': 'N/A {line}' is not a number"
        )
        report.note_failure(RowFailure(f"orders.csv, line {line}", ValueError(reason)))
    lines = str(report).splitlines()[2:]
    assert [line.split(":")[0] for line in lines] == [
        *(f"  orders.csv, line {line}" for line in (1, 2, 3, 4, 5, 6, 7, 8, 20, 30)),
        "  ... and 30 more",
    ]


def test_rows_of_earlier_runs_have_their_outcomes() -> None:
    """The second line of a resumed load's report has the outcomes of the rows of earlier runs."""
    report = LoadReport("ks.t", skipped=20_000, skipped_failed=801)
    message = "20,000 rows were done by earlier runs: 19,199 written, 801 failed"
    assert str(report).splitlines()[1:] == [message]
    report = LoadReport("ks.t", skipped=1, skipped_not_applied=1)
    message = "1 row was done by earlier runs: 0 written, 1 not applied"
    assert str(report).splitlines()[1:] == [message]
    assert report.as_dict()["skipped_not_applied"] == 1
