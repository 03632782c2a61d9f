"""A FastAPI service on ``cassandra.aio`` (``pip install fastapi uvicorn``).

Start it with ``uvicorn --app-dir examples --factory service_fastapi:create_app``. The session lives
as long as the application. The response with a page of notes contains a token, which the client
sends to get the next page. Errors of the driver become HTTP statuses as docs/guides/runbook.rst
recommends, and ``/ready`` says whether the database can be used.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import os
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from cassandra import (
    ConsistencyLevel,
    DriverException,
    OperationTimedOut,
    ReadTimeout,
    Unavailable,
    WriteTimeout,
    aio,
)
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, NoHostAvailable
from cassandra.connection import ConnectionException
from cassandra.cqltypes import EncodeValueError
from cassandra.errors import SessionShutdown
from cassandra.policies import ConstantSpeculativeExecutionPolicy
from cassandra.protocol import (
    CASWriteUnknownMessage,
    InvalidPagingState,
    OverloadedErrorMessage,
    ServerError,
    TruncateError,
)
from cassandra.throttling import RequestThrottled

logger = logging.getLogger(__name__)

# HTTP status and message for each class of error; docs/guides/runbook.rst explains the choice. The
# first class of which an error is an instance decides.
STATUS: dict[type[Exception], tuple[int, str]] = {
    InvalidPagingState: (400, "that is no token of ours"),
    RequestThrottled: (429, "too many requests"),
    Unavailable: (503, "the database is not available"),
    SessionShutdown: (504, "the service is stopping"),
    OverloadedErrorMessage: (503, "the database is overloaded"),
    # After these two errors, a write may have been executed, so the status is 500. They precede
    # NoHostAvailable (503): for statements that are not idempotent, they are instances of it.
    ServerError: (500, "the database failed"),
    TruncateError: (500, "the database failed"),
    NoHostAvailable: (503, "the database is not available"),
    CASWriteUnknownMessage: (504, "the database did not decide in time"),
    OperationTimedOut: (504, "the database did not answer in time"),
    ReadTimeout: (504, "the database did not answer in time"),
    WriteTimeout: (504, "the database did not answer in time"),
    ConnectionException: (504, "the connection to the database broke"),
}
START_WITHIN = 5.0  # seconds to wait for the database before the service starts without it
HOSTS = os.environ.get("CASSANDRA_HOSTS", "127.0.0.1").split(",")
# In production, set 3 replicas: then requests and `/ready` work while one node is down.
REPLICAS = int(os.environ.get("CASSANDRA_REPLICAS", "1"))
SCHEMA = (
    "CREATE KEYSPACE IF NOT EXISTS service WITH replication = "
    f"{{'class': 'SimpleStrategy', 'replication_factor': {REPLICAS}}}",
    "CREATE TABLE IF NOT EXISTS service.notes "
    "(owner text, id timeuuid, body text, PRIMARY KEY (owner, id))",
)


def profile(timeout: float) -> ExecutionProfile:
    """Return a profile that sends idempotent statements to another node after 0.2 s.

    So a single node that does not respond does not matter.
    """
    return ExecutionProfile(
        consistency_level=ConsistencyLevel.LOCAL_QUORUM,
        request_timeout=timeout,
        speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.2, 5),
    )


@dataclass
class Note:
    id: uuid.UUID
    body: str


@dataclass
class NewNote:
    """The JSON body of a request that adds a note."""

    body: str


class Notes:
    """The service's statements. `prepare` must be called once before the others."""

    def __init__(self, session: aio.Session) -> None:
        self._session = session

    async def prepare(self) -> None:
        for statement in SCHEMA:
            await self._session.execute(statement, timeout=60.0)
        self._add = await self._session.prepare(
            "INSERT INTO service.notes (owner, id, body) VALUES (?, ?, ?)"
        )
        self._add.is_idempotent = True
        self._page = await self._session.prepare(
            "SELECT id, body FROM service.notes WHERE owner = ?"
        )
        self._page.fetch_size = 20
        self._page.is_idempotent = True
        # A query that finds nothing shows whether the cluster responds.
        self._ping = await self._session.prepare(
            "SELECT id FROM service.notes WHERE owner = 'nobody' LIMIT 1"
        )
        self._ping.is_idempotent = True

    async def ping(self) -> None:
        """Raise an error if the service's requests cannot be served at present.

        A single node that is down or does not respond does not matter: see `profile`.
        """
        await self._session.execute(self._ping, execution_profile="ready")

    async def add(self, owner: str, body: str) -> Note:
        note = Note(uuid.uuid1(), body)
        await self._session.execute(self._add, (owner, note.id, note.body))
        return note

    async def page(self, owner: str, state: bytes | None) -> dict[str, Any]:
        """Return a page of notes, and the token of the next page (None after the last).

        :param state: the paging state of the previous page. None reads the first page.
        """
        result = await self._session.execute(
            self._page, (owner,), paging_state=state, row_type=Note
        )
        next_state = result.paging_state
        return {
            "notes": result.current_rows,
            "next": base64.urlsafe_b64encode(next_state).decode() if next_state else None,
        }


def status_of(error: Exception) -> tuple[int, str]:
    """Return the HTTP status and the message for clients.

    Errors that are not in the table are mistakes of this service or of the server: status 500.
    """
    for error_class, answer in STATUS.items():
        if isinstance(error, error_class):
            return answer
    return 500, "the request could not be served"


def create_app(hosts: list[str] = HOSTS, **settings: Any) -> Any:
    from fastapi import FastAPI, HTTPException
    from fastapi.responses import JSONResponse

    async def connect(cluster: aio.Cluster) -> None:
        """Connect and prepare; try again each second while the database is down."""
        while True:
            try:
                notes = Notes(await cluster.connect())
                await notes.prepare()
            except DriverException as error:
                logger.warning("not connected yet: %r", error)
                await asyncio.sleep(1.0)
            else:
                app.state.notes = notes
                return

    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        # `/ready` sends a query with the same settings as the service's requests, but a shorter
        # timeout.
        profiles = {EXEC_PROFILE_DEFAULT: profile(5.0), "ready": profile(2.0)}
        async with aio.Cluster(hosts, execution_profiles=profiles, **settings) as cluster:
            connecting = asyncio.create_task(connect(cluster))
            # Usually connecting takes less than a second. If it takes longer than `START_WITHIN`,
            # start without a session: requests then get the status 503.
            await asyncio.wait([connecting], timeout=START_WITHIN)
            yield
            connecting.cancel()

    app = FastAPI(lifespan=lifespan)
    app.state.notes = None

    def connected() -> Notes:
        notes: Notes | None = app.state.notes
        if notes is None:
            raise HTTPException(503, "the database is not available", {"Retry-After": "1"})
        return notes

    @app.exception_handler(DriverException)
    async def failed(request: Any, error: Exception) -> Any:
        status, text = status_of(error)
        logger.log(
            logging.ERROR if status == 500 else logging.WARNING, "%s: %r", request.url, error
        )
        headers = {"Retry-After": "1"} if status in (429, 503) else None
        return JSONResponse({"detail": text}, status, headers=headers)

    @app.exception_handler(EncodeValueError)
    async def refused(request: Any, error: Exception) -> Any:
        """A client has sent a value that its column cannot hold, such as half a surrogate pair."""
        return JSONResponse({"detail": "a value is not valid"}, 400)

    @app.get("/ready")
    async def ready() -> dict[str, bool]:
        await connected().ping()
        return {"ready": True}

    @app.get("/notes/{owner}")
    async def page(owner: str, token: str | None = None) -> dict[str, Any]:
        try:
            # The token is the driver's paging state as base64.
            state = None if token is None else base64.b64decode(token, b"-_", validate=True)
        except ValueError as error:
            raise HTTPException(400, "that is no token of ours") from error
        return await connected().page(owner, state)

    @app.post("/notes/{owner}")
    async def add(owner: str, note: NewNote) -> Note:
        return await connected().add(owner, note.body)

    return app
