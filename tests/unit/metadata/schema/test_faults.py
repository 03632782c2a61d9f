"""If a schema object was built from damaged rows, its export is a comment with the error."""

from __future__ import annotations

from tests.unit.metadata.schema.test_tables import table


def test_damaged_metadata_are_exported_as_a_comment() -> None:
    damaged = table()
    damaged.fail(ValueError("a column */ is missing"))
    text = damaged.export_as_string()
    assert text.startswith("/*\nWarning: Table ks.t is incomplete")
    assert text.endswith("\n*/")
    # The error's text contains "*/", which must not end the comment.
    assert text.count("*/") == 1
    assert "ValueError: a column" in text
    assert damaged._exc_info is not None
