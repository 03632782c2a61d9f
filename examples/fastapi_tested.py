"""A FastAPI application and its test (``pip install fastapi httpx pytest-asyncio``).

``pytest -o asyncio_mode=auto examples/fastapi_tested.py`` starts a Cassandra node for the run. With
``--cassandra-hosts=127.0.0.1`` it uses the node at that address.
"""

from __future__ import annotations

from typing import Any

import httpx
from fastapi import FastAPI, Request

# In production, the application's lifespan would set app.state.session; the test sets it itself.
app = FastAPI()


@app.get("/users/{key}")
async def user(key: int, request: Request) -> dict[str, Any]:
    session = request.app.state.session
    result = await session.execute("SELECT name FROM users WHERE key = %s", (key,))
    row = result.one()
    return {"name": row.name if row else None}


async def test_user(cassandra_aio_session: Any) -> None:
    session = app.state.session = cassandra_aio_session  # its keyspace is new and empty
    await session.execute("CREATE TABLE users (key int PRIMARY KEY, name text)")
    await session.execute("INSERT INTO users (key, name) VALUES (1, 'Ada')")
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        response = await client.get("/users/1")
    assert response.json() == {"name": "Ada"}
