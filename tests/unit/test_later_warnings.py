"""Tests of warnings that one thread collects and another one shows later."""

from __future__ import annotations

import pytest

from cassandra._later_warnings import LaterWarnings, collecting, warn, warn_of_topic


def test_collected_warnings_are_shown_once(recwarn: pytest.WarningsRecorder) -> None:
    """Warnings are collected until `show`, which shows each once. Later warnings come at once."""
    later = LaterWarnings()
    with collecting(later):
        warn("first")
        warn("second")
    assert not recwarn.list
    later.show()
    later.show()
    assert [str(warning.message) for warning in recwarn.list] == ["first", "second"]
    warn("at once")
    assert str(recwarn.list[-1].message) == "at once"


def test_a_load_warns_of_a_topic_once(recwarn: pytest.WarningsRecorder) -> None:
    later = LaterWarnings()
    # These are the calls of the thread for three chunks.
    for number in range(3):
        with collecting(later):
            warn_of_topic(f"value {number}", "units")
            warn_of_topic("a day", "days")
        later.show()
    assert [str(warning.message) for warning in recwarn.list] == ["value 0", "a day"]
    # Outside of loads, Python decides which warnings it repeats.
    warn_of_topic("value 3", "units")
    warn_of_topic("value 4", "units")
    assert [str(warning.message) for warning in recwarn.list[2:]] == ["value 3", "value 4"]


def test_a_warning_with_its_row_replaces_that_of_the_value(
    recwarn: pytest.WarningsRecorder,
) -> None:
    """If warnings with rows have a topic, one without a row must not be shown for this topic."""
    later = LaterWarnings()
    with collecting(later):
        warn("row 0: column 'at'", "units")
        warn("row 5: column 'till'", "units")
        warn_of_topic("a value", "units")
    later.show()
    assert [str(warning.message) for warning in recwarn.list] == [
        "row 0: column 'at'",
        "row 5: column 'till'",
    ]
