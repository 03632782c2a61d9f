"""Checks single settings of a cluster.

Each function takes the setting's name and a value, and returns the value to store. Errors name the
setting and the value.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra._habits import class_advice, stack_level, warn_of_reconnection_milliseconds
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

_Value = TypeVar("_Value")


def seconds(name: str, value: object, minimum: float = 0.0) -> float | None:
    """Accept a number of seconds that is at least `minimum`, or None.

    :raises TypeError: for anything else.
    :raises ValueError: if it is less than `minimum`, NaN or infinite.
    """
    if value is None:
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number of seconds or None, but is {value!r}")
    # Check for NaN separately, because every comparison with NaN is False.
    if math.isnan(value) or value == math.inf:
        raise ValueError(
            f"{name} must be a number of seconds, but is {value!r}; None is for no limit"
        )
    if value < minimum:
        raise ValueError(f"{name} must not be negative, but is {value}")
    # All times of a cluster are short. So even a number such as 2000 may mean milliseconds.
    warn_of_reconnection_milliseconds(name, value)
    return value


def heartbeat_timeout(name: str, value: object) -> float | None:
    """Accept a number of seconds that is not negative, or None.

    Warn if the number is 0, because 0 does not disable heartbeats.
    """
    checked_value = seconds(name, value)
    if checked_value == 0:
        warnings.warn(
            f"{name}=0 closes each connection at its first heartbeat: write "
            "idle_heartbeat_interval=0 for no heartbeats",
            RuntimeWarning,
            stacklevel=stack_level(),
        )
    return checked_value


def seconds_or_negative(name: str, value: object) -> float | None:
    """Accept a number of seconds, which may be negative, or None.

    For these settings, a negative number disables something: the wait for schema agreement, or the
    reaction to an event.
    """
    return seconds(name, value, -math.inf)


def timedelta(name: str, value: _Value) -> _Value:
    """Accept a timedelta, a number of seconds that is not negative, or None."""
    if not isinstance(value, datetime.timedelta):
        seconds(name, value)
    return value


def switch(name: str, value: object) -> bool:
    """Accept any value, and convert it to a boolean. Warn of a string such as "false"."""
    return bool(unconverted_switch(name, value))


def unconverted_switch(name: str, value: _Value) -> _Value:
    """Accept any value, and return it unchanged. Warn of a string such as "false"."""
    if isinstance(value, str) and value.strip().lower() in _NO:
        warnings.warn(
            f"{name}={value!r} means True, because the string is not empty: write {name}=False",
            RuntimeWarning,
            stacklevel=stack_level(),
        )
    return value


# Strings that mean False, for example in environment variables. Python takes them for True.
_NO = frozenset({"0", "f", "false", "n", "no", "none", "off"})


def prepare_scope(name: str, scope: object) -> str:
    """Accept "local_dc" or "all".

    :raises ValueError: for anything else.
    """
    if scope not in ("local_dc", "all"):
        raise ValueError(f'{name} must be "local_dc" or "all", but is {scope!r}')
    return str(scope)


def tcp_port(name: str, port: object) -> int:
    """Accept a port as a number or a string, because it may come from an environment variable.

    :raises ValueError: if it is not a number from 1 to 65535.
    """
    # Check the digits before calling int(), because the error message of int() would not mention a
    # port.
    is_number = isinstance(port, (int, str)) and str(port).strip().isdecimal()
    if isinstance(port, bool) or not is_number or not 1 <= int(str(port)) <= 65535:
        raise ValueError(f"{name} must be a number from 1 to 65535, but is {port!r}")
    return int(str(port))


def auth_provider(name: str, provider: _Value) -> _Value:
    """Accept an object that creates authenticators, or None.

    :raises TypeError: for anything else. The message does not show the value, which may be a
        password.
    """
    reject_class(name, provider)
    if provider is not None and not hasattr(provider, "new_authenticator"):
        type_name = provider.kind if isinstance(provider, Secret) else type(provider).__name__
        raise TypeError(
            f"{name} must be an AuthProvider, but is of type {type_name}; "
            "write PlainTextAuthProvider(username, password)"
        )
    return provider


def instance(name: str, value: _Value) -> _Value:
    """Accept any object.

    :raises TypeError: for a class, because the application probably meant an instance.
    """
    reject_class(name, value)
    return value


def reject_class(name: str, value: object) -> None:
    """Raise TypeError for a class, because the application probably meant an instance."""
    if isinstance(value, type):
        raise TypeError(class_advice(name, value))


# Examples of objects, by a method that they must have.
_EXAMPLES = {
    "new_schedule": ": write ConstantReconnectionPolicy(delay=5), from cassandra.policies",
    "translate": ": write an instance of a subclass of cassandra.policies.AddressTranslator",
}


def instance_with(*methods: str) -> Callable[[str, object], Any]:
    """Return a check function that accepts only objects with these methods, or None.

    :param methods: the names of methods that the driver always calls.
    """

    def check(name: str, value: _Value) -> _Value:
        """Return `value` if it is None or has all `methods`; otherwise raise TypeError."""
        reject_class(name, value)
        for method in methods:
            if value is not None and not hasattr(value, method):
                raise TypeError(
                    f"{name} must have a method {method!r}, but is {value!r} "
                    f"of type {type(value).__name__}{_EXAMPLES.get(method, '')}"
                )
        return value

    return check


def text(name: str, value: object) -> str | None:
    """Accept a string, or None.

    :raises TypeError: for anything else.
    """
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} must be a text, but is {value!r} of type {type(value).__name__}")
    return value


def class_with_factory(name: str, factory_class: _Value) -> _Value:
    """Accept a class, an object with a method ``factory`` that creates connections, or None.

    :raises TypeError: for anything else.
    """
    if not (
        factory_class is None
        or isinstance(factory_class, type)
        or hasattr(factory_class, "factory")
    ):
        raise TypeError(
            f"{name} must be a class, but is {factory_class!r} of type "
            f"{type(factory_class).__name__}"
        )
    return factory_class


def socket_options(name: str, options: _Value) -> _Value:
    """Accept tuples of three or four arguments for ``socket.setsockopt``, or None.

    :raises TypeError: for anything else.
    """
    if options is None:
        return options
    if isinstance(options, (str, bytes)) or not isinstance(options, Collection):
        raise TypeError(
            f"{name} must be a list of tuples, but is {options!r} of type {type(options).__name__}"
        )
    for arguments in options:
        if not isinstance(arguments, (tuple, list)) or len(arguments) not in (3, 4):
            raise TypeError(
                f"{name} must have tuples of arguments for socket.setsockopt, "
                f"(level, option, value), but has {arguments!r}"
            )
    return options


def function(name: str, value: _Value) -> _Value:
    """Accept a callable, or None.

    :raises ValueError: for anything else.
    """
    if value is not None and not callable(value):
        raise ValueError(f"{name} must be callable, but is {value!r}")
    return value


def encryption(name: str, policy: _Value) -> _Value:
    """Accept a column encryption policy, or None.

    :raises TypeError: for anything else.
    """
    if policy is not None and not hasattr(policy, "contains_column"):
        raise TypeError(
            f"{name} must be a ColumnEncryptionPolicy, but is of type {type(policy).__name__}"
        )
    return policy


def throttler(name: str, value: _Value) -> _Value:
    """Accept a request throttler, or None.

    :raises TypeError: for anything else.
    """
    reject_class(name, value)
    if value is not None and not hasattr(value, "admit"):
        raise TypeError(f"{name} must be a cassandra.throttling.RequestThrottler, not {value!r}")
    return value


def count_or_unlimited(name: str, count: object) -> int | None:
    """Accept a number of requests, or None.

    :raises ValueError: for anything else.
    """
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 0):
        raise ValueError(
            f"{name} must be a number of requests, or None for no limit, but is {count!r}"
        )
    return count


def loop_count(name: str, count: object) -> int:
    """Accept a number of event loops.

    :raises TypeError: if it is not an integer.
    :raises ValueError: if it is not positive.
    """
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(
            f"{name} must be a number of event loops, but is {count!r} of type "
            f"{type(count).__name__}"
        )
    if count < 1:
        raise ValueError(f"{name} must be 1 or more, but is {count}")
    return count


def positive(name: str, count: float) -> float:
    """Accept a positive number.

    :raises TypeError: if it is not a number.
    :raises ValueError: if it is not positive.
    """
    if not isinstance(count, (int, float)):
        raise TypeError(f"{name} must be a number, but is {count!r} of type {type(count).__name__}")
    if not count > 0:
        raise ValueError(f"{name} must be 1 or more, but is {count}")
    return count


def rows(name: str, size: object) -> int:
    """Accept a number of rows, at least 1.

    :raises ValueError: for anything else.
    """
    # Reject True and False, which Python accepts as 1 and 0, because they are surely a mistake.
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ValueError(f"{name} must be a number of rows from 1 on, but is {size!r}")
    return size


def names_or_all(name: str, names: Iterable[str] | None) -> tuple[str, ...] | None:
    """Accept a list of names, or None; return a copy, because the application may change its list.

    :raises TypeError: if it is not a list of names.
    """
    # Reject a single string, because it would be treated as a sequence of its characters.
    if isinstance(names, str) or not all(isinstance(item, str) for item in names or ()):
        raise TypeError(f"{name} must be a list of names, but is {names!r}")
    return tuple(names) if names is not None else None


def compression(name: str, algorithm: _Value) -> _Value:
    """Accept a boolean, None, or the name of an algorithm whose package is installed.

    :raises TypeError: if it is not a boolean, None or a string.
    :raises ValueError: if the name is unknown, or its package is missing.
    """
    if algorithm in (None, True, False):
        return algorithm
    if not isinstance(algorithm, str):
        raise TypeError(f"{name} is True, False or an algorithm's name, but is {algorithm!r}")
    if algorithm not in ("lz4", "snappy"):
        raise ValueError(f"{name} must be 'lz4' or 'snappy', but is {algorithm!r}")
    # Raise an error if the package is missing: if an application chooses an algorithm, compression
    # must not be left out silently.
    if algorithm not in available_compressions():
        package = {"lz4": "lz4", "snappy": "python-snappy"}[algorithm]
        raise ValueError(
            f"{name} {algorithm!r} needs the package {package!r}: pip install turbocql[{algorithm}]"
        )
    return algorithm


def must_be_none(instead: str) -> Callable[[str, object], None]:
    """Return a check function that accepts only None.

    :param instead: advice for the message.
    """

    def check(name: str, value: object) -> None:
        if value is not None:
            raise NotImplementedError(f"{name} is not supported: {instead}")

    return check


def must_be_false(why: str) -> Callable[[str, object], Any]:
    """Return a check function that accepts only false values.

    :param why: the reason, for the message.
    """

    def check(name: str, value: _Value) -> _Value:
        if value:
            raise NotImplementedError(f"{name}={value!r} is not supported: {why}")
        return value

    return check
