"""A fake session that records its executions, for tests of the object mapper.

The fixture `session` makes it the mapper's default connection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.cqlengine import connection


class Execution:
    """A recorded execution: the statement's text, its values and its settings."""

    def __init__(self, statement: Any, values: Any, timeout: Any) -> None:
        self.text = getattr(statement, "text", None) or getattr(statement, "query_string", None)
        self.values = getattr(statement, "values", None) if values is None else list(values)
        self.consistency = getattr(statement, "consistency_level", None)
        self.fetch_size = getattr(statement, "fetch_size", None)
        self.idempotent = getattr(statement, "is_idempotent", False)
        self.timeout = timeout
        self.statement = statement


class FakePrepared:
    """A fake prepared statement, which binds values without converting them."""

    def __init__(self, text: str) -> None:
        self.text = text

    def bind(self, values: Sequence[Any]) -> Any:
        """Return a fake bound statement."""
        return SimpleNamespace(
            text=self.text, values=list(values), consistency_level=None, fetch_size=None
        )


class FakeResult:
    """A fake result with the rows that the session had at the time of the execution."""

    has_more_pages = False

    def __init__(self, session: FakeSession) -> None:
        self.column_names = list(session.names)
        self.response_future: Any = SimpleNamespace(row_factory=None)
        self._raw = [tuple(row) for row in session.rows]

    @cached_property
    def _rows(self) -> Any:
        return self.response_future.row_factory(self.column_names, self._raw)

    @property
    def was_applied(self) -> bool:
        return bool(self.one()["[applied]"])

    @property
    def current_rows(self) -> Any:
        return self._rows

    def one(self) -> Any:
        return self._rows[0] if self._rows else None

    def all(self) -> list[Any]:
        return list(self._rows)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)


class FakeSession:
    """A fake session, whose executions are recorded in `executions`.

    Each execution returns `rows`, whose columns are called `names`. If `error` is set, each
    execution raises it.
    """

    keyspace = "ks"

    def __init__(self) -> None:
        self.names: Sequence[str] = ()
        self.rows: Sequence[Sequence[Any]] = ()
        self.error: BaseException | None = None
        self.executions: list[Execution] = []
        self.prepared: list[str] = []
        # The mapper registers user-defined types with the cluster; this has no effect here.
        self.cluster = SimpleNamespace(register_user_type=lambda *args: None)

    def return_row(self, **row: Any) -> None:
        """Make each following execution return one row with these values, by column name."""
        self.names, self.rows = list(row), [list(row.values())]

    def prepare(self, text: str) -> FakePrepared:
        self.prepared.append(text)
        return FakePrepared(text)

    def execute(self, statement: Any, parameters: Any = None, timeout: Any = None) -> Any:
        """Record the execution, and return the rows or raise the error of the session."""
        self.executions.append(Execution(statement, parameters, timeout))
        if self.error is not None:
            raise self.error
        return FakeResult(self)

    @property
    def last_statement(self) -> tuple[str | None, Any]:
        """Return the statement and the values of the last execution."""
        return self.executions[-1].text, self.executions[-1].values


@pytest.fixture(autouse=True)
def _no_default_keyspace() -> None:
    """Clear the mapper's default keyspace, which an earlier test may have set."""
    connection.set_default_keyspace(None)


@pytest.fixture
def session() -> Iterator[FakeSession]:
    """Yield a fake session that is the mapper's default connection."""
    fake = FakeSession()
    connection.set_session(fake)  # type: ignore[arg-type]
    yield fake
    connection.unregister_connection(connection.DEFAULT_CONNECTION)
    connection.set_default_keyspace(None)
