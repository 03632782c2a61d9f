"""Describes which attributes and methods of sessions and results this package uses.

The classes are protocols (`typing.Protocol`). The modules of this package refer to them, and not to
the classes of the sessions, because methods of these classes, for example `Session.load`, call this
package. Only type checkers import this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

    from cassandra.client.columnar import Form
    from cassandra.client.configuration import ClusterBase
    from cassandra.engine.profile import ExecutionProfile
    from cassandra.protocol.messages.results import ResultMessage
    from cassandra.query.prepared import PreparedStatement


class Page(Protocol):
    """A result of the blocking or asyncio API.

    Bulk code only uses the current page of a result, and never lets it fetch the next page.
    """

    @property
    def _message(self) -> ResultMessage | None:
        """The message with the current page; None if the page was set as a list of rows."""

    @property
    def current_rows(self) -> Any:
        """The rows of the current page, as the row factory makes them."""

    @property
    def paging_state(self) -> bytes | None:
        """The server's paging state; None on the last page."""

    @property
    def column_names(self) -> list[str] | None:
        """The names of the columns; None if the response has no columns, for example of INSERT."""

    def _numpy_form(self) -> Form:
        """Return the settings with which pages are converted to NumPy arrays."""


class BulkSession(Protocol):
    """The attributes and methods that blocking and asyncio sessions have in common."""

    @property
    def cluster(self) -> ClusterBase:
        """The cluster of the session."""

    @property
    def keyspace(self) -> str | None:
        """The current keyspace of the session; None if none was set."""

    def execution_profile_clone_update(
        self, ep: ExecutionProfile | str, **kwargs: Any
    ) -> ExecutionProfile:
        """Return a copy of an execution profile with changes."""


class Session(BulkSession, Protocol):
    """A blocking session: `cassandra.cluster.Session`."""

    @property
    def execute_async(self) -> Callable[..., Any]:
        """The method that starts an execution and returns its future."""

    def prepare(self, query: str) -> PreparedStatement:
        """Prepare `query` on the servers."""


class AsyncSession(BulkSession, Protocol):
    """A session of the asyncio API: `cassandra.aio.Session`."""

    def execute_concurrent(
        self,
        statements_and_parameters: Iterable[tuple[Any, Any]],
        concurrency: int,
        raise_on_first_error: bool,
        *,
        execution_profile: ExecutionProfile | str | None,
    ) -> AsyncGenerator[tuple[bool, Any], None]:
        """Execute many statements; yield (True, result) or (False, exception) for each.

        The order is the order of the statements.
        """

    async def prepare(self, query: str) -> PreparedStatement:
        """Prepare `query` on the servers."""
