"""The settings of a statement: each is named here, and nowhere copied by name.

A request takes its settings from three places, in this order: the options of the call, the
statement itself, the execution profile and the session. `cassandra.engine.happy_path.resolve` is
where they meet.
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

DEFAULT_FETCH_SIZE = 5000  # rows a page, unless a session or a statement says otherwise


class _Sentinel:
    """A value that stands for "not given", where None means something."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    # Pickled by name: after a round trip `is` must still find the same object.
    def __reduce__(self) -> str:
        return self._name


FETCH_SIZE_UNSET: Any = _Sentinel("FETCH_SIZE_UNSET")
"""The session's `default_fetch_size` decides."""

NOT_SET: Any = _Sentinel("NOT_SET")
"""The default of parameters for which None means "none"."""


class StatementSettings(bases.SettingsBase):
    """The settings of a statement, which a prepared statement hands on to those bound of
    it.

    None leaves a setting to the execution profile or the session, unless its own text says
    otherwise.
    """

    __slots__ = ()

    consistency_level: int | None
    """The consistency level, a value of `ConsistencyLevel`."""

    custom_payload: Mapping[str, bytes | None] | None
    """What to send beside the statement, for custom query handlers of the server."""

    fetch_size: Any
    """Rows a page; None turns paging off, FETCH_SIZE_UNSET leaves it to the session."""

    is_idempotent: bool
    """Executing it twice does no harm: only then is it retried after it may have been executed."""

    retry_policy: RetryPolicy | None
    """Decides about retries in place of the profile's policy."""

    vector_type: str | None
    """How vectors of numbers are read: "list", "array" or "numpy"."""

    def reset_settings(self) -> None:
        """Leave all settings to the profile and the session."""
        # A slot that was never set raises AttributeError when it is read, so all are set.
        for name in SETTINGS:
            setattr(self, name, None)
        self.fetch_size = FETCH_SIZE_UNSET
        # False is the safe answer: a write that may have been executed is not sent again.
        self.is_idempotent = False

    def take_settings(self, other: StatementSettings) -> None:
        """Take over all settings of `other`.

        :param other: another statement.
        """
        for name in SETTINGS:
            setattr(self, name, getattr(other, name))


SETTINGS = bases.SettingsBase.__slots__

add_habits(StatementSettings, STATEMENT_SETTINGS, settings=True)
