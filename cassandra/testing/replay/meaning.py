"""The meaning of a request: the parts by which a replay finds the recorded response.

A replay only uses a response that was recorded for a request with the same meaning. The meaning has
all parts that have an effect on the response: the CQL, the values, the keyspace, consistency
levels, the page, and whether the response may omit the column metadata. Parts that differ from run
to run are left out: stream ids, client timestamps, ids of prepared statements, and the order of
requests on different connections.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from cassandra.testing.fake.primitives import NOT_SET, Opcode
from cassandra.testing.fake.requests import Request
from cassandra.util.secret_texts import is_about_roles, without_secrets

Meaning = dict[str, Any]  # what a request asks for, as JSON values

ANSWERED = frozenset({Opcode.QUERY, Opcode.PREPARE, Opcode.EXECUTE, Opcode.BATCH})
"""The types of requests that are recorded.

A replay node responds to all other requests, such as logins, like a `FakeNode`.
"""

_SECRET = "***"  # replaces a bound value that may be a password
_LONGEST_SHOWN = 300  # maximum number of characters of the details in an error message


def masked_text(text: str | None) -> str | None:
    """Return a statement without passwords and other secrets; see `without_secrets`."""
    return None if text is None else without_secrets(text)


def masked_meaning(meaning: Meaning) -> Meaning:
    """Return a recorded meaning with the secrets removed from its statements.

    Recordings of earlier versions may contain secrets. The meaning of a new request has none, so
    the request only matches the recorded request if the recorded secrets are removed, too.
    """
    masked = dict(meaning)
    if masked.get("text") is not None:
        masked["text"] = masked_text(masked["text"])
        if "values" in masked and is_about_roles(masked["text"]):
            masked["values"] = [_SECRET] * len(masked["values"])
    if "statements" in masked:
        masked["statements"] = [
            {**statement, "text": masked_text(statement["text"])}
            for statement in masked["statements"]
        ]
    return masked


def _value(value: Any, is_masked: bool) -> str | None:
    """Return a bound value as a string; None for null."""
    if value is None:
        return None
    if value is NOT_SET:
        return "unset"
    if is_masked:
        return f"sha256:{hashlib.sha256(value).hexdigest()[:32]}"
    data: str = value.hex()
    return f"0x{data}"


def _values(text: str | None, values: Sequence[Any], is_masked: bool) -> list[str | None]:
    """Return bound values as strings, masked where necessary.

    :param text: the CQL of the statement. All values of statements about roles are masked.
    """
    if text is not None and is_about_roles(text):
        # A digest would not protect a short password: anyone could try all short passwords.
        return [_SECRET] * len(values)
    return [_value(value, is_masked) for value in values]


def meaning_of(request: Request, keyspace: str | None, is_masked: bool) -> Meaning:
    """Return the meaning of a request, as a dict of JSON values.

    The meaning has everything that decides the response to the request.

    In a replay, a request gets the response that was recorded for a request with the same meaning.

    :param request: a request whose opcode is in `ANSWERED`.
    :param keyspace: the keyspace that its connection uses.
    :param is_masked: True to replace bound values by digests.
    """
    # Do not read this flag of a PREPARE, where the same bit has another meaning.
    skips_metadata = request.opcode != Opcode.PREPARE and request.skip_metadata
    parts: Meaning = {
        "kind": Opcode(request.opcode).name,
        "text": masked_text(request.query),
        "names": list(request.names),
        "values": _values(request.query, request.values, is_masked),
        "statements": [
            {
                "text": masked_text(statement.query),
                "values": _values(statement.query, statement.values, is_masked),
            }
            for statement in request.statements
        ],
        "batch_type": request.batch_type,
        "keyspace": request.keyspace or keyspace,
        "consistency": request.consistency,
        "serial_consistency": request.serial_consistency,
        "page_size": request.page_size,
        "paging_state": _value(request.paging_state, is_masked=False),
        "skips_columns": skips_metadata or None,
        "traced": request.traced or None,
    }
    # Omit the parts that this request does not have.
    return {name: part for name, part in parts.items() if part not in (None, [])}


def shown(meaning: Meaning) -> str:
    """Describe a meaning for an error message: the type of request, the CQL, and other parts."""
    text = meaning.get("text") or "; ".join(
        str(statement["text"]) for statement in meaning.get("statements", ())
    )
    rest = {name: part for name, part in meaning.items() if name not in ("kind", "text")}
    details = ", ".join(f"{name}={part!r}" for name, part in rest.items())
    if len(details) > _LONGEST_SHOWN:
        details = f"{details[:_LONGEST_SHOWN]}..."
    return f"{meaning['kind']} {text!r} with {details or 'nothing else'}"
