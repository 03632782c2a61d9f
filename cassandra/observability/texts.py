"""Descriptions of statements and errors that are safe for logs and traces.

People who read logs and spans may have no right to read the data. So a description of a statement
has no values. A server's error message may repeat parts of the statement, even a password. So a
description of an error has only its class, the server's code, and its fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from cassandra._bounded import Bounded
from cassandra._patterns import pattern
from cassandra.consistency import consistency_value_to_name
from cassandra.cqltypes.failures import EncodeTypeError, EncodeValueError
from cassandra.errors import (
    AlreadyExists,
    AuthenticationFailed,
    ConfigurationException,
    ConnectionBusy,
    ConnectionException,
    FunctionFailure,
    InvalidRequest,
    MissingParameter,
    NoConnectionsAvailable,
    NoHostAvailable,
    OperationTimedOut,
    QueryExhausted,
    RateLimitReached,
    ReadFailure,
    ReadTimeout,
    RequestExecutionException,
    RequestThrottled,
    RequestValidationException,
    Unauthorized,
    Unavailable,
    UnsupportedOperation,
    WriteFailure,
    WriteTimeout,
    WriteType,
)
from cassandra.protocol.messages.errors import (
    ErrorMessage,
    InvalidPagingState,
    PreparedQueryNotFound,
)
from cassandra.util.cql_text import stored_name

__all__ = [
    "Shape", "code_of", "error_text", "is_about_roles", "is_invalid", "message_without_secrets",
    "shape_of", "without_secrets", "without_values",
]  # fmt: skip

# Matches one white space character or one comment. There is only one way to match any string by
# repetitions of this pattern. Otherwise a repetition could take exponential time.
_SPACE = r"(?: \s | (?:--|//)[^\n]*(?:\n|\Z) | /\*(?:(?!\*/).)*(?:\*/|\Z) )"

# Matches the parts (tokens) of a statement that `_replacement` replaces or keeps. The group `value`
# is a complete string, `open` is a string whose closing quote is missing, and `misquoted` is a
# value in double quotes.
_TOKENS = rf"""
      (?P<misquoted> (?<==) \s*"(?:[^"]|"")*(?:"|\Z) )
    | (?P<space> {_SPACE}+ )
    | (?P<open> '(?:[^']|'')*\Z | \$\$(?:(?!\$\$).)*\Z )
    | (?P<value> '(?:[^']|'')*'\w* | \$\$.*?\$\$ )
    | (?P<name> "(?:[^"]|"")*(?:"|\Z) )
    | (?P<uuid> \b[0-9a-fA-F]{{8}}(?:-[0-9a-fA-F]{{4}}){{3}}-[0-9a-fA-F]{{12}}\b )
    | (?P<number> (?<![\w"])[-+]?\b\d[\w.]*(?:[eE][-+]?\d+)? )
    | (?P<duration> (?<![\w"])-?\bP(?=T?\d)(?:\d+[YMWD])*(?:T(?:\d+[HMS])*)?\b )
    """

# Matches a name, with or without double quotes.
_NAME = r'(?:"(?:[^"]|"")+"|\w+)'

# Matches the beginning of a statement, up to and including its table. The keyword before the table
# depends on the type of the statement.
_TABLE = rf"""
    ^\W*(?:BEGIN\s.*?\bBATCH\b.*?\b)?
    (?:
        (?P<into> INSERT\s+INTO\s+ )
      | (?P<update> UPDATE\s+ )
      | (?P<from> (?:SELECT|DELETE)\b.*?\bFROM\s+ )
      | (?P<truncate> TRUNCATE\s+(?:TABLE\s+|COLUMNFAMILY\s+)? )
      | (?P<schema> (?:CREATE|ALTER|DROP)\s+(?:TABLE|COLUMNFAMILY|MATERIALIZED\s+VIEW)\s+
                    (?:IF\s+(?:NOT\s+)?EXISTS\s+)? )
    )
    (?P<keyspace>{_NAME}\s*\.\s*)?(?P<table>{_NAME})
    """

# Matches the start of a statement about roles. Any literal in such a statement may be a secret.
_ROLE = rf"""
    (?: {_SPACE} | ; )* (?:CREATE|ALTER|ADD|DROP) {_SPACE}+
    (?: (?:GENERATED|OR|REPLACE|IF|NOT|EXISTS) {_SPACE}+ )* (?:ROLE|USER|IDENTITY)\b
    """
# Matches the option of a role that has a password or its hash.
_PASSWORD = rf"(?: (?:HASHED{_SPACE}+)?PASSWORD | SALTED{_SPACE}+HASH )"
# Matches passwords in other statements, for example in a statement whose first word is misspelt.
_ASSIGNMENT = rf"""
    ( \b{_PASSWORD}{_SPACE}*={_SPACE}* | \b(?:WITH|AND){_SPACE}+{_PASSWORD}{_SPACE}* )
    (?: '(?:[^']|'')*(?:'|\Z) | \$\$.*?(?:\$\$|\Z) )
    """
# Keywords that may follow WITH in a statement about roles. Any other word may be part of a secret.
_ROLE_OPTIONS = frozenset(
    {
        *("password", "hashed", "salted", "hash", "generated", "login", "superuser", "nosuperuser"),
        *("options", "access", "to", "from", "all", "datacenters", "cidrs"),
        *("with", "and", "true", "false"),
    }
)

# The number of characters of a statement that are analysed. A description omits the rest.
_MAX_CQL_LENGTH = 1 << 14

_tokens = pattern(_TOKENS, re.VERBOSE | re.DOTALL)
_quote = pattern(r"'|\$\$", 0)  # the beginning of a string
_table = pattern(_TABLE, re.VERBOSE | re.DOTALL | re.IGNORECASE)
_role = pattern(_ROLE, re.VERBOSE | re.DOTALL | re.IGNORECASE)
_assignment = pattern(_ASSIGNMENT, re.VERBOSE | re.DOTALL | re.IGNORECASE)
_with = pattern(r"\bWITH\b", re.IGNORECASE)
_option = pattern(r"[^\s=:,{}?;]+")  # a word in the options of a statement about roles
_words = pattern(r"\w+")

_UNSAFE_MESSAGE = "the server's message is left out, because it may repeat a password"
# A server's message is left out if it has this many characters of a secret.
_SECRET_PART = 4


class Shape(NamedTuple):
    """A description of a statement: its operation, its table, and its CQL without values.

    :param operation: the first word of the statement, in capitals; BATCH for a batch.
    :param keyspace: the keyspace that the CQL names, or None.
    :param table: the table that the CQL names, or None.
    :param text: the CQL, with ? in place of literals.
    """

    operation: str
    keyspace: str | None
    table: str | None
    text: str

    @property
    def summary(self) -> str:
        """The operation and the table. It serves as a name for similar statements."""
        if self.table is None:
            return self.operation
        return f"{self.operation} {self.keyspace + '.' if self.keyspace else ''}{self.table}"


def without_values(text: str) -> str:
    """Return CQL with ? in place of each literal, and without comments.

    Strings, numbers, blobs, UUIDs and durations are literals. Names are kept, including names in
    double quotes. White space becomes a single space. If the closing quote of a string is missing,
    everything after the first quote is left out. A value in double quotes (``PASSWORD = "secret"``)
    is left out, too. In statements about roles and users, all words after WITH that are not
    keywords are replaced by ?.

    :param text: the CQL. Only its first 16,384 characters are used.
    """
    if not is_about_roles(text):
        return _without_literals(text)
    # The password in such a statement may have no quotes, or wrong quotes, and is then not a
    # literal. So after WITH, keep only keywords.
    shown_text = _without_literals(text)
    with_match = _with.search(shown_text)
    start = len(shown_text) if with_match is None else with_match.start()
    return shown_text[:start] + _option.sub(_option_or_marker, shown_text[start:])


def _option_or_marker(match: re.Match[str]) -> str:
    """Return a word of a statement about roles; return ? if the word is not a keyword."""
    word = match.group()
    return word if word.lower() in _ROLE_OPTIONS else "?"


def _without_literals(text: str) -> str:
    """Return CQL with ? in place of each literal, and without comments."""
    if len(text) > _MAX_CQL_LENGTH:
        # If the statement is cut inside a string, the beginning of that string is an `open` token,
        # which is replaced.
        return _tokens.sub(_replacement, text[:_MAX_CQL_LENGTH]).strip() + "..."
    if any(match.lastgroup == "open" for match in _tokens.finditer(text)):
        # A string has no end, because a quote is missing or was not doubled. So any word after the
        # first quote may be part of a value: remove them all. The quote that we append is an `open`
        # token, which becomes ?.
        text = text[: _quote.search(text).start()] + "'"  # type: ignore[union-attr]  # there is one
    return _tokens.sub(_replacement, text).strip()


def is_about_roles(text: str) -> bool:
    """Return True if a statement creates, changes or drops a role, a user or an identity.

    :param text: the CQL.
    """
    return _role.match(text) is not None


def without_secrets(text: str) -> str:
    """Return CQL without passwords and other secrets. Other values are kept.

    All values of statements about roles and users are removed, as by `without_values`. In all other
    statements, ``'***'`` replaces a string after ``password =``. Applying this function to its
    result changes nothing.

    :param text: the CQL. Only the first 16,384 characters of a statement about roles are used.
    """
    if is_about_roles(text):
        return without_values(text)
    return _assignment.sub(r"\1'***'", text)


def message_without_secrets(message: str, text: str) -> str:
    """Return a server's error or warning about a statement without the statement's secrets.

    :param message: the server's message.
    :param text: the CQL of the statement.
    :returns: the message with ``***`` in place of secrets. If it may still contain a part of the
        statement, a fixed message is returned instead.
    """
    shown_text = without_secrets(text)
    if shown_text == text:
        return message
    shown_words = set(_words.findall(shown_text))
    literals = {
        match.group().strip("'$\"")
        for match in _tokens.finditer(text)
        if match.lastgroup not in ("space", "name")
    }
    # All literals are secrets, and so are all words that are not in `shown_text`. Replace longer
    # secrets first, because they may contain shorter secrets.
    secrets = sorted(
        ({*_words.findall(text)} - shown_words | literals) - {""}, key=len, reverse=True
    )
    for secret in secrets:
        message = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", message)
    # If the message still has a part of a secret, do not show it. Do the same if it has a quote or
    # "...", because it may then quote a part of the statement that is too short to be found.
    has_part = any(
        secret[start : start + _SECRET_PART] in message
        for secret in secrets
        for start in range(len(secret) - _SECRET_PART + 1)
    )
    return _UNSAFE_MESSAGE if has_part or "'" in message or "..." in message else message


def _replacement(match: re.Match[str]) -> str:
    """Return the string that replaces a token of `_TOKENS`."""
    token_type = match.lastgroup
    if token_type == "name":
        return match.group()
    # The token of a misquoted value includes the white space before the value, so add a space.
    return " " if token_type == "space" else " ?" if token_type == "misquoted" else "?"


def shape_of(text: str, has_markers: bool = False) -> Shape:
    """Return the description of a statement, from a cache.

    :param text: the CQL.
    :param has_markers: True for a prepared statement. Its CQL is shown with its literals, but
        without secrets.
    """
    shape = _shapes.get((text, has_markers))
    if shape is None:
        shape = _make_shape(text, has_markers)
        # The last argument is an estimate of the memory in bytes. The CQL may have megabytes, and
        # the shape contains copies of it.
        shape = _shapes.keep((text, has_markers), shape, 1000 + 3 * len(text))
    return shape


_shapes: Bounded[tuple[str, bool], Shape] = Bounded(1000, 1 << 23)  # at most 8 MiB


def _make_shape(text: str, has_markers: bool) -> Shape:
    """Make the description of a statement that `shape_of` returns and caches."""
    text_without_values = without_values(text)
    words = text_without_values.split(None, 1)
    operation = words[0].upper().rstrip(";") if words else ""
    # A batch that is written in CQL begins with BEGIN BATCH.
    if operation == "BEGIN":
        operation = "BATCH"
    match = _table.match(text_without_values)
    keyspace = table = None
    if match is not None:
        table = stored_name(match["table"].strip())
        if match["keyspace"]:
            keyspace = stored_name(match["keyspace"].strip().rstrip(".").rstrip())
    shown_text = without_secrets(text) if has_markers else text_without_values
    return Shape(operation, keyspace, table, shown_text)


# -- errors ----------------------------------------------------------------------------------------

# Exceptions for errors of the server that do not derive from ErrorMessage. Each has its code
# (native_protocol_v5.spec, section 8).
_CODES: tuple[tuple[type[BaseException], str], ...] = (
    (Unavailable, "0x1000"),
    (WriteTimeout, "0x1100"),
    (ReadTimeout, "0x1200"),
    (ReadFailure, "0x1300"),
    (FunctionFailure, "0x1400"),
    (WriteFailure, "0x1500"),
    (Unauthorized, "0x2100"),
    (AlreadyExists, "0x2400"),
    (ConfigurationException, "0x2300"),
    (InvalidRequest, "0x2200"),
    (AuthenticationFailed, "0x0100"),
)
# Errors whose message is a server's message, or contains one. It may repeat values, so it is not
# shown.
_SERVER_ERRORS = (
    ErrorMessage,
    RequestExecutionException,
    RequestValidationException,
    AuthenticationFailed,
)
# Errors whose message was written by the driver, and is only about hosts and connections. It is
# shown.
_DRIVER_ERRORS = (
    ConnectionBusy,
    ConnectionException,
    NoConnectionsAvailable,
    QueryExhausted,
    RequestThrottled,
    UnsupportedOperation,
)
# The attributes of errors that a description shows. They contain no values of the statement.
_ERROR_FIELDS = (
    *("consistency", "required_replicas", "alive_replicas"),
    *("required_responses", "received_responses", "failures", "data_retrieved", "write_type"),
    *("keyspace", "table", "function", "op_type", "rejected_by_coordinator"),
    *("last_host", "timeout", "in_flight"),
)
_MAX_HOSTS = 5  # maximum number of hosts in the description of an error
_MAX_ERROR_LENGTH = 500  # maximum number of characters of a description


def code_of(error: BaseException) -> str | None:
    """Return the server's error code for an error, such as "0x1200".

    :param error: the error.
    :returns: None if the error does not come from a server, or has no fixed code.
    """
    if isinstance(error, ErrorMessage):
        # The protocol sends the code as a signed [int]; show it without a sign.
        return f"0x{error.code & 0xFFFFFFFF:04x}"
    if isinstance(error, RateLimitReached):
        return None  # an extension of the protocol, without a fixed code
    return next((code for cls, code in _CODES if isinstance(error, cls)), None)


# Errors that show a mistake in the request: in its CQL, its values or its page token. A plain
# ValueError or TypeError is not in this list: the driver checks arguments before a request starts,
# so such an error during a request comes from a bug in a policy, protocol handler or codec.
_MISTAKES = (
    RequestValidationException,
    InvalidPagingState,
    MissingParameter,
    EncodeTypeError,
    EncodeValueError,
)
# Subclasses of the classes in `_MISTAKES` that do not show a mistake in the request.
_NO_MISTAKES = (PreparedQueryNotFound, RateLimitReached)


def is_invalid(error: BaseException) -> bool:
    """Return True if an error shows that the request itself was invalid.

    Invalid requests have wrong CQL, values or page tokens, use tables that do not exist, or lack a
    permission. Such a request fails again if it is repeated. Return False if the server, the
    network, a limit of the client, or a bug in a policy or protocol handler has caused the error. A
    plain ValueError or TypeError does not show that a request was invalid.

    :param error: the error of a request.
    """
    return isinstance(error, _MISTAKES) and not isinstance(error, _NO_MISTAKES)


def error_text(error: BaseException) -> str:
    """Return a one-line description of an error, without values of the statement.

    Messages from the server are left out, because they may repeat parts of the statement. Messages
    of errors that come from neither the server nor the driver are left out, too.

    :param error: the error of a request.
    """
    description = f"{type(error).__name__}: {_describe_details(error)}".rstrip(": ")
    return (
        description
        if len(description) <= _MAX_ERROR_LENGTH
        else f"{description[: _MAX_ERROR_LENGTH - 3]}..."
    )


def _describe_details(error: BaseException) -> str:
    """Return the part of `error_text` after the error's class; "" if there is none."""
    if isinstance(error, NoHostAvailable):
        return _describe_host_errors(error)
    if isinstance(error, (*_SERVER_ERRORS, OperationTimedOut)):
        # `summary` is the name that the protocol gives the error. It is not a message from the
        # server.
        parts = [error.summary] if isinstance(error, ErrorMessage) else []
        code = code_of(error)
        if code is not None:
            parts.append(f"code={code}")
        for name in _ERROR_FIELDS:
            value = getattr(error, name, None)
            if value is not None:
                parts.append(f"{name}={_field_value(name, value)}")
        if isinstance(error, OperationTimedOut) and error.last_host is None and error.errors:
            # Nothing was sent, so the errors are strings from the driver, which contain no values.
            reasons = [f"{host}: {why}" for host, why in list(error.errors.items())[:_MAX_HOSTS]]
            parts.append("; ".join(reasons))
        return ", ".join(parts)
    if isinstance(error, OSError):
        return error.strerror or ""
    return str(error).split("\n", 1)[0] if isinstance(error, _DRIVER_ERRORS) else ""


def _describe_host_errors(error: NoHostAvailable) -> str:
    """Describe the error of each host in a NoHostAvailable."""
    errors: Any = error.errors
    if not isinstance(errors, Mapping) or not errors:
        # No host has an error, so the driver has written the message. It contains nothing from a
        # server and can be shown.
        return str(error.args[0]).split("\n", 1)[0] if error.args else ""
    descriptions = [
        f"{host}: {error_text(error) if isinstance(error, BaseException) else type(error).__name__}"
        for host, error in list(errors.items())[:_MAX_HOSTS]
    ]
    return "; ".join(descriptions) + ("; ..." if len(errors) > _MAX_HOSTS else "")


def _field_value(name: str, value: object) -> object:
    """Return the value of an error's field. A number of an enumeration is replaced by its name."""
    if name == "consistency":
        return consistency_value_to_name(value)  # type: ignore[arg-type]
    if name == "write_type":
        return WriteType.value_to_name.get(value, value)  # type: ignore[call-overload]
    return value
