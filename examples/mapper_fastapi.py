"""The object mapper in a FastAPI application (``pip install fastapi uvicorn``).

Start it with ``uvicorn --app-dir examples --factory mapper_fastapi:create_app``. The mapper's
requests are awaited on the server's own event loop. The session lives as long as the application.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import AsyncIterator
from typing import Any

from cassandra.cqlengine import ValidationError, columns, connection, management
from cassandra.cqlengine.models import Model

HOSTS = os.environ.get("CASSANDRA_HOSTS", "127.0.0.1").split(",")
KEYSPACE = os.environ.get("CASSANDRA_KEYSPACE", "fastapi_example")
# In production, set 3 replicas: with 1, requests fail while the node that has the row is down.
REPLICAS = int(os.environ.get("CASSANDRA_REPLICAS", "1"))
CONNECTION = "fastapi"


class Todo(Model):
    __connection__ = CONNECTION
    owner = columns.Text(primary_key=True)
    id = columns.UUID(primary_key=True, default=uuid.uuid4)
    text = columns.Text(required=True, max_length=500)
    done = columns.Boolean(default=False)


@contextlib.asynccontextmanager
async def connected(
    hosts: list[str] = HOSTS, keyspace: str = KEYSPACE, **settings: Any
) -> AsyncIterator[None]:
    """Connect the mapper's session; it is closed when the ``async with`` block ends."""
    await connection.aregister_connection(CONNECTION, hosts, cluster_options=settings)
    connection.set_default_keyspace(keyspace)
    try:
        yield
    finally:
        await connection.aunregister_connection(CONNECTION)


async def create_schema(keyspace: str = KEYSPACE) -> None:
    """Create keyspace and table. Run this once, when you deploy the application."""
    await management.acreate_keyspace_simple(keyspace, REPLICAS, connections=[CONNECTION])
    await management.async_sync_table(Todo, keyspaces=[keyspace])


async def list_todos(owner: str) -> list[dict[str, Any]]:
    return [dict(todo) async for todo in Todo.objects(owner=owner)]


async def add_todo(owner: str, body: dict[str, Any]) -> dict[str, Any]:
    return dict(await Todo.acreate(**{**body, "owner": owner}))


async def finish_todo(owner: str, id: uuid.UUID) -> dict[str, Any]:
    todo = await Todo.aget(owner=owner, id=id)
    return dict(await todo.aupdate(done=True))


def create_app() -> Any:
    """Return the application. uvicorn's --factory calls this function."""
    import fastapi

    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        async with connected():
            yield

    app = fastapi.FastAPI(lifespan=lifespan)
    app.get("/{owner}")(list_todos)
    app.post("/{owner}", status_code=201)(add_todo)
    app.put("/{owner}/{id}")(finish_todo)

    def refused(request: Any, error: Exception) -> Any:
        """Return the response for an error of the mapper."""
        status = 404 if isinstance(error, Todo.DoesNotExist) else 400
        return fastapi.responses.JSONResponse({"error": str(error)}, status)

    app.add_exception_handler(Todo.DoesNotExist, refused)
    app.add_exception_handler(ValidationError, refused)
    return app
