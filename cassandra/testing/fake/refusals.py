"""The bodies of ERROR messages: all codes of native_protocol_v5.spec, section 8."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from cassandra.testing.fake.primitives import inetaddr, short_bytes, string, string_list

if TYPE_CHECKING:
    from cassandra.testing.fake.requests import Request


class ErrorCode(IntEnum):
    """The codes of errors (native_protocol_v5.spec, section 8).

    `RATE_LIMITED` is an error of ScyllaDB, which announces its code in SUPPORTED.
    """

    SERVER_ERROR = 0x0000
    PROTOCOL_ERROR = 0x000A
    BAD_CREDENTIALS = 0x0100
    UNAVAILABLE = 0x1000
    OVERLOADED = 0x1001
    IS_BOOTSTRAPPING = 0x1002
    TRUNCATE_ERROR = 0x1003
    WRITE_TIMEOUT = 0x1100
    READ_TIMEOUT = 0x1200
    READ_FAILURE = 0x1300
    FUNCTION_FAILURE = 0x1400
    WRITE_FAILURE = 0x1500
    CDC_WRITE_FAILURE = 0x1600
    CAS_WRITE_UNKNOWN = 0x1700
    SYNTAX_ERROR = 0x2000
    UNAUTHORIZED = 0x2100
    INVALID = 0x2200
    CONFIG_ERROR = 0x2300
    ALREADY_EXISTS = 0x2400
    UNPREPARED = 0x2500
    RATE_LIMITED = 0x4321


class Refusal(Exception):
    """Raised by the encoder of a message: the node responds to the request with an error.

    :param code: the code of the error.
    :param message: the text of the error.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def _short(number: int) -> bytes:
    return number.to_bytes(2, "big")


def _int(number: int) -> bytes:
    return number.to_bytes(4, "big", signed=True)


def _byte(number: int) -> bytes:
    return bytes([number])


def _reasons(failures: Mapping[str, int], request: Request) -> bytes:
    """Encode the field that describes the failed replicas.

    Version 5 has a <reasonmap>; version 4 only has the number of failures, <numfailures>.
    """
    if request.version < 5:
        return _int(len(failures))
    return _int(len(failures)) + b"".join(
        inetaddr(address) + _short(code) for address, code in failures.items()
    )


# `_FIELDS` maps the name of a field to a `_Field`: (default value, encoder). If the default is
# None, `error_body` takes the value from the request that failed.
_Field = tuple[Any, Callable[[Any], bytes]]
_FIELDS: dict[str, _Field] = {
    "consistency": (None, _short),
    "required": (1, _int),
    "alive": (0, _int),
    "received": (0, _int),
    "blockfor": (1, _int),
    "data_present": (False, _byte),
    "write_type": ("SIMPLE", string),
    "contentions": (0, _short),
    "keyspace": ("ks", string),
    "function": ("f", string),
    "arg_types": ((), string_list),
    "table": ("", string),
    "query_id": (None, short_bytes),
    "op_type": (0, _byte),
    "rejected_by_coordinator": (False, _byte),
    "failures": ({}, bytes),
}

# Maps an error code to the names of its fields, in order. The field <contentions> only exists in
# version 5, and only for the timeout of a CAS write.
_LAYOUTS: dict[int, tuple[str, ...]] = {
    ErrorCode.UNAVAILABLE: ("consistency", "required", "alive"),
    ErrorCode.WRITE_TIMEOUT: ("consistency", "received", "blockfor", "write_type", "contentions"),
    ErrorCode.READ_TIMEOUT: ("consistency", "received", "blockfor", "data_present"),
    ErrorCode.READ_FAILURE: ("consistency", "received", "blockfor", "failures", "data_present"),
    ErrorCode.FUNCTION_FAILURE: ("keyspace", "function", "arg_types"),
    ErrorCode.WRITE_FAILURE: ("consistency", "received", "blockfor", "failures", "write_type"),
    ErrorCode.CAS_WRITE_UNKNOWN: ("consistency", "received", "blockfor"),
    ErrorCode.ALREADY_EXISTS: ("keyspace", "table"),
    ErrorCode.UNPREPARED: ("query_id",),
    ErrorCode.RATE_LIMITED: ("op_type", "rejected_by_coordinator"),
}


def check_code(code: object) -> None:
    """Raise TypeError if an error code is not a number, and name the constant to write instead."""
    if isinstance(code, int):
        return
    name = str(code).upper()
    example = name if name in ErrorCode.__members__ else ErrorCode.OVERLOADED.name
    raise TypeError(
        f"the code of an error is a number: write ErrorCode.{example}, "
        f"not {code!r} ({type(code).__name__})"
    )


def check_fields(code: int, fields: Mapping[str, Any]) -> None:
    """Raise TypeError if `fields` has a field that an error with this code does not have."""
    allowed = _LAYOUTS.get(code, ())
    unknown = [name for name in fields if name not in allowed]
    if unknown:
        raise TypeError(
            f"error 0x{code:04x} has no field {', '.join(unknown)}; "
            f"it has {', '.join(allowed) or 'none'}"
        )
    # Encode the fields now, only to find errors: in the node's thread, an error would just close
    # the connection.
    for name, value in fields.items():
        encode = _FIELDS[name][1]
        if name == "failures" or value is None:
            continue
        try:
            encode(value)
        except Exception as error:
            raise TypeError(
                f"error 0x{code:04x} cannot have {name}={value!r} ({type(value).__name__})"
            ) from error


def error_body(code: int, message: str, fields: Mapping[str, Any], request: Request) -> bytes:
    """Return the body of an ERROR (section 4.2.1).

    If `fields` lacks `consistency` or `query_id`, the values of `request` are used.
    """
    parts = [_int(code), string(message)]
    for name in _LAYOUTS.get(code, ()):
        default, encode = _FIELDS[name]
        value = fields.get(name, default)
        if name == "contentions" and (request.version < 5 or fields.get("write_type") != "CAS"):
            continue
        # The format of "failures" depends on the protocol version, so the encoder in _FIELDS is not
        # used.
        if name == "failures":
            parts.append(_reasons(value, request))
            continue
        if name == "consistency" and value is None:
            value = request.consistency or 0
        elif name == "query_id" and value is None:
            value = request.query_id or b""
        parts.append(encode(value))
    return b"".join(parts)
