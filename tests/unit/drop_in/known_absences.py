"""Names that are not there yet, because they are made elsewhere: delete what has come.

Each is a module, or a name in one. Nothing else may be absent.
"""

from __future__ import annotations

KNOWN_ABSENCES = (
    "cassandra.column_encryption",
    "cassandra.policies.ColDesc",
    "cassandra.policies.ColumnEncryptionPolicy",
    "cassandra.protocol.ColDesc",
    "cassandra.query.ColDesc",
)


def is_known_to_be_absent(name: str) -> bool:
    """Return True if `name`, or something that it is part of, is listed."""
    return any(name == one or name.startswith((f"{one}.",)) for one in KNOWN_ABSENCES)
