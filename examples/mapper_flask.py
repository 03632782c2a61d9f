"""The object mapper in a Flask application (``pip install flask``).

Start it with ``flask --app examples/mapper_flask.py run``. Each worker process connects at its
first request, and not when the module is imported: servers that fork (gunicorn with --preload,
uWSGI) must not share a session between processes.
"""

from __future__ import annotations

import os
import uuid
from typing import Any

from cassandra.cqlengine import ValidationError, columns, connection, management
from cassandra.cqlengine.models import Model

HOSTS = os.environ.get("CASSANDRA_HOSTS", "127.0.0.1").split(",")
KEYSPACE = os.environ.get("CASSANDRA_KEYSPACE", "flask_example")
# In production, set 3 replicas: with 1, requests fail while the node that has the row is down.
REPLICAS = int(os.environ.get("CASSANDRA_REPLICAS", "1"))


class Todo(Model):
    owner = columns.Text(primary_key=True)
    id = columns.UUID(primary_key=True, default=uuid.uuid4)
    text = columns.Text(required=True, max_length=500)
    done = columns.Boolean(default=False)


def connect(hosts: list[str] = HOSTS, keyspace: str = KEYSPACE, **settings: Any) -> None:
    """Set up the mapper; it connects at its first request."""
    connection.setup(hosts, keyspace, lazy_connect=True, retry_connect=True, **settings)


def create_schema(keyspace: str = KEYSPACE) -> None:
    """Create keyspace and table: ``flask --app examples/mapper_flask.py schema``.

    Run this once, when you deploy the application.
    """
    management.create_keyspace_simple(keyspace, REPLICAS)
    management.sync_table(Todo)


def list_todos(owner: str) -> tuple[list[dict[str, Any]], int]:
    return [dict(todo) for todo in Todo.objects(owner=owner)], 200


def add_todo(owner: str, body: dict[str, Any]) -> tuple[dict[str, Any], int]:
    try:
        return dict(Todo.create(**{**body, "owner": owner})), 201
    except ValidationError as error:
        return {"error": str(error)}, 400


def finish_todo(owner: str, id: uuid.UUID) -> tuple[dict[str, Any], int]:
    try:
        return dict(Todo.get(owner=owner, id=id).update(done=True)), 200
    except Todo.DoesNotExist:
        return {"error": f"there is no {id}"}, 404


def create_app() -> Any:
    """Return the application. The command ``flask`` calls this function."""
    import flask

    app = flask.Flask(__name__)
    connect()
    app.cli.command("schema")(create_schema)
    app.get("/<owner>")(lambda owner: list_todos(owner))
    app.post("/<owner>")(lambda owner: add_todo(owner, flask.request.get_json()))
    app.put("/<owner>/<uuid:id>")(lambda owner, id: finish_todo(owner, id))
    return app
