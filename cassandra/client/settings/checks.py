"""Checks of single settings of a cluster.

Each takes the setting's name and a value, and returns the value to keep. Its errors name both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

from cassandra._imports import at_first_cluster
from cassandra._secrets import Secret

if TYPE_CHECKING:
    import datetime

    from cassandra.protocol.compression import available_compressions
else:
    at_first_cluster(
        __name__,
        available_compressions="cassandra.protocol.compression",
        datetime="datetime",
    )

__all__ = [
    "auth_provider",
    "compression",
    "count_or_unlimited",
    "encryption",
    "function",
    "instance",
    "instance_with",
    "kind_with_factory",
    "must_be_false",
    "must_be_none",
    "names_or_all",
    "positive",
    "rows",
    "seconds",
    "seconds_or_negative",
    "socket_options",
    "switch",
    "tcp_port",
    "text",
    "throttler",
    "timedelta",
]


def seconds(name: str, value: object, least: float = 0.0) -> Any:
    """Accept a number of seconds that is not negative, or None.

    :raises TypeError: if it is something else.
    :raises ValueError: if it is out of range.
    """
    if value is None:
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number of seconds or None, but is {value!r}")
    # NaN would pass the comparison below.
    if math.isnan(value) or value == math.inf:
        raise ValueError(
            f"{name} must be a number of seconds, but is {value!r}; None is for no limit"
        )
    if value < least:
        raise ValueError(f"{name} must not be negative, but is {value}")
    return value


def seconds_or_negative(name: str, value: object) -> Any:
    """Accept a number of seconds, or any negative number, which has a meaning of its own."""
    return seconds(name, value, -math.inf)


def timedelta(name: str, value: object) -> Any:
    """Accept a time that is a timedelta, or a number of seconds that is not negative, or None."""
    if not isinstance(value, datetime.timedelta):
        seconds(name, value)
    return value


def switch(name: str, value: object) -> bool:
    """Accept anything, as a boolean."""
    return bool(value)


def tcp_port(name: str, port: object) -> int:
    """Accept a port, also as a text, which it is in an environment variable.

    :raises ValueError: if it is not a number from 1 to 65535.
    """
    # Looked at before int() does: its own message would not say that it is about a port.
    is_number = isinstance(port, (int, str)) and str(port).strip().isdecimal()
    if isinstance(port, bool) or not is_number or not 1 <= int(str(port)) <= 65535:
        raise ValueError(f"{name} must be a number from 1 to 65535, but is {port!r}")
    return int(str(port))


def auth_provider(name: str, provider: object) -> Any:
    """Accept None, or what makes authenticators.

    :raises TypeError: if it is something else. The message does not show it.
    """
    instance(name, provider)
    if provider is not None and not hasattr(provider, "new_authenticator"):
        kind = provider.kind if isinstance(provider, Secret) else type(provider).__name__
        raise TypeError(
            f"{name} must be an AuthProvider, but is of type {kind}; "
            "PlainTextAuthProvider serves for a user name and a password"
        )
    return provider


def instance(name: str, value: object) -> Any:
    """Accept any object.

    :raises TypeError: if it is a class: one without its brackets, most likely.
    """
    if isinstance(value, type):
        raise TypeError(
            f"{name} must be an instance, but is the class {value.__name__}: "
            f"write {value.__name__}(...)"
        )
    return value


def instance_with(*methods: str) -> Callable[[str, object], Any]:
    """Return a check that accepts objects with these methods, and None.

    :param methods: the names of those that the driver calls in any case.
    """

    def check(name: str, value: object) -> Any:
        instance(name, value)
        for method in methods:
            if value is not None and not hasattr(value, method):
                raise TypeError(
                    f"{name} must have a method {method!r}, but is {value!r} "
                    f"of type {type(value).__name__}"
                )
        return value

    return check


def text(name: str, value: object) -> Any:
    """Accept a text, or None.

    :raises TypeError: if it is something else.
    """
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} must be a text, but is {value!r} of type {type(value).__name__}")
    return value


def kind_with_factory(name: str, kind: object) -> Any:
    """Accept a class, or an object whose ``factory`` makes connections, or None.

    :raises TypeError: if it is something else.
    """
    if not (kind is None or isinstance(kind, type) or hasattr(kind, "factory")):
        raise TypeError(f"{name} must be a class, but is {kind!r} of type {type(kind).__name__}")
    return kind


def socket_options(name: str, options: object) -> Any:
    """Accept tuples of three or four arguments for ``socket.setsockopt``, or None.

    :raises TypeError: if it is something else.
    """
    if options is None:
        return options
    if isinstance(options, (str, bytes)) or not isinstance(options, Collection):
        raise TypeError(
            f"{name} must be a list of tuples, but is {options!r} of type {type(options).__name__}"
        )
    for one in options:
        if not isinstance(one, (tuple, list)) or len(one) not in (3, 4):
            raise TypeError(
                f"{name} must have tuples of arguments for socket.setsockopt, "
                f"(level, option, value), but has {one!r}"
            )
    return options


def function(name: str, value: object) -> Any:
    """Accept what can be called, or None.

    :raises ValueError: if it is something else.
    """
    if value is not None and not callable(value):
        raise ValueError(f"{name} must be callable, but is {value!r}")
    return value


def encryption(name: str, policy: object) -> Any:
    """Accept None, or what says which columns are encrypted.

    :raises TypeError: if it is something else.
    """
    if policy is not None and not hasattr(policy, "contains_column"):
        raise TypeError(
            f"{name} must be a ColumnEncryptionPolicy, but is of type {type(policy).__name__}"
        )
    return policy


def throttler(name: str, value: object) -> Any:
    """Accept None, or what lets requests begin.

    :raises TypeError: if it is something else.
    """
    instance(name, value)
    if value is not None and not hasattr(value, "admit"):
        raise TypeError(f"{name} must be a cassandra.throttling.RequestThrottler, not {value!r}")
    return value


def count_or_unlimited(name: str, count: object) -> Any:
    """Accept a number of requests, or None.

    :raises ValueError: if it is something else.
    """
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 0):
        raise ValueError(
            f"{name} must be a number of requests, or None for no limit, but is {count!r}"
        )
    return count


def positive(name: str, count: float) -> Any:
    """Accept a number from 1 on.

    :raises TypeError: if it is not a number.
    :raises ValueError: if it is less.
    """
    if not isinstance(count, (int, float)):
        raise TypeError(f"{name} must be a number, but is {count!r} of type {type(count).__name__}")
    if not count > 0:
        raise ValueError(f"{name} must be 1 or more, but is {count}")
    return count


def rows(name: str, size: object) -> int:
    """Accept a number of rows from 1 on.

    :raises ValueError: if it is something else.
    """
    # To Python, True is the number 1.
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ValueError(f"{name} must be a number of rows from 1 on, but is {size!r}")
    return size


def names_or_all(name: str, names: Iterable[str] | None) -> tuple[str, ...] | None:
    """Accept a list of names, or None; return a copy, since the program may change its own later.

    :raises TypeError: if it is not a list of names.
    """
    # A text is a sequence of names too, of one letter each.
    if isinstance(names, str) or not all(isinstance(one, str) for one in names or ()):
        raise TypeError(f"{name} must be a list of names, but is {names!r}")
    return tuple(names) if names is not None else None


def compression(name: str, wanted: object) -> Any:
    """Accept a boolean, None, or the name of an algorithm whose package is installed.

    :raises TypeError: if it is neither a boolean, None nor a name.
    :raises ValueError: if the name is unknown, or its package is missing.
    """
    if wanted in (None, True, False):
        return wanted
    if not isinstance(wanted, str):
        raise TypeError(f"{name} is True, False or an algorithm's name, but is {wanted!r}")
    if wanted not in ("lz4", "snappy"):
        raise ValueError(f"{name} must be 'lz4' or 'snappy', but is {wanted!r}")
    # An algorithm that is asked for by name must not be left out in silence.
    if wanted not in available_compressions():
        package = {"lz4": "lz4", "snappy": "python-snappy"}[wanted]
        raise ValueError(
            f"{name} {wanted!r} needs the package {package!r}: pip install turbocql[{wanted}]"
        )
    return wanted


def must_be_none(instead: str) -> Callable[[str, object], None]:
    """Return a check that accepts None alone.

    :param instead: what the message says to do.
    """

    def check(name: str, value: object) -> None:
        if value is not None:
            raise NotImplementedError(f"{name} is not supported: {instead}")

    return check


def must_be_false(why: str) -> Callable[[str, object], Any]:
    """Return a check that accepts nothing that is true.

    :param why: the reason, for the message.
    """

    def check(name: str, value: object) -> Any:
        if value:
            raise NotImplementedError(f"{name}={value!r} is not supported: {why}")
        return value

    return check
