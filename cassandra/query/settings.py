"""The settings of a statement, named in one place: other code copies them by this list.

A request takes its settings from several places, in this order: the options of the call, the
statement itself, the execution profile and the session. `cassandra.engine.happy_path.resolve`
combines them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cassandra._habits import STATEMENT_SETTINGS, add_habits

if TYPE_CHECKING:
    from cassandra import bases
    from cassandra.policies.retry import RetryPolicy
else:
    from cassandra._impl import bases

__all__ = ["DEFAULT_FETCH_SIZE", "FETCH_SIZE_UNSET", "NOT_SET", "SETTINGS", "StatementSettings"]

DEFAULT_FETCH_SIZE = 5000  # rows per page, unless a session or a statement sets another number


class _Sentinel:
    """A value for "not given", where None has a meaning of its own."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    # Pickled by name: `is` must still find the same object in the unpickled statement.
    def __reduce__(self) -> str:
        return self._name


FETCH_SIZE_UNSET: Any = _Sentinel("FETCH_SIZE_UNSET")
"""The session's `default_fetch_size` decides."""

NOT_SET: Any = _Sentinel("NOT_SET")
"""The default of parameters for which None means "none"."""


class StatementSettings(bases.SettingsBase):
    """The settings of a statement, which a prepared statement passes to its bound statements.

    None leaves a setting to the execution profile or the session, unless its own description
    differs.
    """

    __slots__ = ()

    consistency_level: int | None
    """The consistency level, a value of `ConsistencyLevel`."""

    custom_payload: Mapping[str, bytes | None] | None
    """The payload that is sent with the statement, for custom query handlers of the server."""

    fetch_size: Any
    """Rows per page; None turns paging off, FETCH_SIZE_UNSET leaves the number to the session."""

    is_idempotent: bool
    """Executing the statement twice does no harm: only then is it retried after it may have been
    executed.
    """

    retry_policy: RetryPolicy | None
    """The policy that decides about retries in place of the profile's policy."""

    vector_type: str | None
    """The form of numeric vectors in results: "list", "array" or "numpy"."""

    def reset_settings(self) -> None:
        """Leave all settings to the profile and the session."""
        # Reading a slot that was never set raises AttributeError, so all are set.
        for name in SETTINGS:
            setattr(self, name, None)
        self.fetch_size = FETCH_SIZE_UNSET
        # False is the safe default: a write that may have been executed is not sent again.
        self.is_idempotent = False

    def take_settings(self, other: StatementSettings) -> None:
        """Take over all settings of `other`.

        :param other: another statement.
        """
        for name in SETTINGS:
            setattr(self, name, getattr(other, name))


SETTINGS = bases.SettingsBase.__slots__

add_habits(StatementSettings, STATEMENT_SETTINGS, settings=True)
