"""The settings of a statement; `SETTINGS` lists their names, so that other code can copy them.

A request takes each setting from the first of these that has it: the options of the call, the
statement, the execution profile and the session. `cassandra.engine.happy_path.resolve` combines
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cassandra._habits import STATEMENT_SETTINGS, add_habits, with_typos
from cassandra.sentinels import FETCH_SIZE_UNSET, NOT_SET

if TYPE_CHECKING:
    from cassandra import bases
    from cassandra.policies.retry import RetryPolicy
else:
    from cassandra._impl import bases

__all__ = ["DEFAULT_FETCH_SIZE", "FETCH_SIZE_UNSET", "NOT_SET", "SETTINGS", "StatementSettings"]

DEFAULT_FETCH_SIZE = 5000  # rows per page, unless a session or a statement sets another number


class StatementSettings(bases.SettingsBase):
    """The settings of a statement, which a prepared statement passes to its bound statements.

    If a setting is None, the execution profile or the session decides, unless the setting's
    description says otherwise.
    """

    __slots__ = ()

    consistency_level: int | None
    """The consistency level, a value of `ConsistencyLevel`."""

    custom_payload: Mapping[str, bytes | None] | None
    """The payload that is sent with the statement, for custom query handlers of the server."""

    fetch_size: Any
    """Rows per page; None turns paging off, FETCH_SIZE_UNSET leaves the number to the session."""

    is_idempotent: bool
    """True if executing the statement twice does no harm.

    Only such a statement is sent again after an error that does not show whether it was executed.
    """

    retry_policy: RetryPolicy | None
    """The policy that decides about retries instead of the profile's policy."""

    vector_type: str | None
    """The form of numeric vectors in results: "list", "array" or "numpy"."""

    def reset_settings(self) -> None:
        """Leave all settings to the profile and the session."""
        # Set every slot, because reading a slot that was never set raises AttributeError.
        for name in SETTINGS:
            setattr(self, name, None)
        self.fetch_size = FETCH_SIZE_UNSET
        # False is the safe default: a write that may have been executed is not sent again.
        self.is_idempotent = False

    def take_settings(self, other: StatementSettings) -> None:
        """Copy all settings of `other`.

        :param other: another statement.
        """
        for name in SETTINGS:
            setattr(self, name, getattr(other, name))


SETTINGS = bases.SettingsBase.__slots__  # the names of the attributes that every statement has

add_habits(StatementSettings, with_typos(STATEMENT_SETTINGS, SETTINGS), settings=True)
