"""Test the export of schema objects that were built from damaged rows."""

from __future__ import annotations

from tests.unit.metadata.schema.test_tables import table


def test_damaged_metadata_are_exported_as_a_comment() -> None:
    """The export of a damaged table is a comment with the error."""
    damaged = table()
    damaged.fail(ValueError("a column */ is missing"))
    text = damaged.export_as_string()
    assert text.startswith("/*\nWarning: Table ks.t is incomplete")
    assert text.endswith("\n*/")
    # The error's message contains "*/", which must not end the comment.
    assert text.count("*/") == 1
    assert "ValueError: a column" in text
    assert damaged._exc_info is not None
