"""Recognizes mock objects, which tests of applications pass in place of statements and settings.

Checks of types that cassandra-driver does not have must accept mocks. Otherwise, the tests of an
application would fail after a change of the driver, although its code is right.
"""

from __future__ import annotations

_BASE = "NonCallableMock"


def is_mock(value: object) -> bool:
    """Return True for an instance of `unittest.mock.Mock` or of one of its relatives.

    :param value: any object. With ``spec=``, a mock also passes for an instance of that class.
    """
    # Compare the names of the classes: importing unittest.mock takes long, and the package `mock`
    # has classes of its own.
    return any(base.__name__ == _BASE for base in type(value).__mro__)
