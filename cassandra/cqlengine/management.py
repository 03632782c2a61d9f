"""Schema management: creates keyspaces, tables and types as models declare them.

`sync_table` and `sync_type` never drop a column or make its type narrower. Each function exists
twice, for blocking connections and for connections of `cassandra.aio`. Both run the same
*operation*, a generator that yields its requests (`cassandra.cqlengine.running`).
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from cassandra._habits import MANAGEMENT, stack_level
from cassandra._unknown_options import with_example
from cassandra._wrong_imports import refuse_names
from cassandra.cqlengine import schema_changes
from cassandra.cqlengine.columns.containers import resolve_udts
from cassandra.cqlengine.connection import (
    default_keyspace,
    execute,
    format_log_context,
    get_cluster,
)
from cassandra.cqlengine.errors import CQLEngineException
from cassandra.cqlengine.models import BaseModel, Model
from cassandra.cqlengine.named import NamedTable
from cassandra.cqlengine.running import Call, Operation, Request, arun, run, simple_request
from cassandra.cqlengine.schema_changes import Field, ServerColumn
from cassandra.cqlengine.usertype import UserType
from cassandra.errors import AlreadyExists, InvalidRequest
from cassandra.util.cql_text import cql_string, protect_name

__all__ = [
    "CQLENG_ALLOW_SCHEMA_MANAGEMENT", "CQLEngineException", "Field", "Model", "NamedTable",
    "UserType", "acreate_keyspace_network_topology", "acreate_keyspace_simple", "adrop_keyspace",
    "adrop_table", "async_sync_table", "async_sync_type", "async_table", "async_type",
    "create_keyspace_network_topology", "create_keyspace_simple", "drop_keyspace", "drop_table",
    "execute", "format_log_context", "get_cluster", "get_create_type", "sync_table", "sync_type",
]  # fmt: skip

log = logging.getLogger("cassandra.cqlengine.management")

# The name of the environment variable that an application sets to change schemas without a warning.
CQLENG_ALLOW_SCHEMA_MANAGEMENT = "CQLENG_ALLOW_SCHEMA_MANAGEMENT"
DDL_TIMEOUT = 60.0  # seconds: servers take longer for changes of the schema than for rows

Keyspaces = Sequence[str] | None
Connections = Sequence[str] | None


def _check_environment() -> None:
    """Warn if the application has not set the environment variable that allows schema changes."""
    if not os.getenv(CQLENG_ALLOW_SCHEMA_MANAGEMENT):
        message = (
            f"{CQLENG_ALLOW_SCHEMA_MANAGEMENT} environment variable is not set. Future versions "
            "of this package will require "
            "this variable to enable management functions."
        )
        # Only warn, as cassandra-driver does, so that applications without the variable keep
        # working.
        warnings.warn(message, stacklevel=stack_level())
        log.warning(message)


def _names_to_visit(names: Sequence[str] | None, argument: str) -> list[str | None]:
    """Return the names of keyspaces or connections to iterate over.

    Without names, return [None]. The caller treats None as the model's keyspace or the default
    connection.

    :param argument: the name of the parameter, for the error.
    """
    if names is None:
        return [None]
    # Raise an error for a string, because its letters would be used as names, and for an iterator,
    # because it can be read only once.
    if isinstance(names, str) or not isinstance(names, (list, tuple)):
        advice = ""
        if isinstance(names, type) and issubclass(names, BaseModel):
            advice = f": call sync_table for each model, sync_table({names.__name__})"
        raise ValueError(f"{argument} must be a list or a tuple, not {names!r}{advice}")
    return list(names)


# -- keyspaces -------------------------------------------------------------------------------------


def _create_keyspace_cql(name: str, replication: Mapping[str, Any], durable_writes: bool) -> str:
    """Return a CREATE KEYSPACE statement."""
    # Quote all values, because CQL also accepts a number that is written as a string.
    pairs = ", ".join(
        f"{cql_string(str(key))}: {cql_string(str(value))}" for key, value in replication.items()
    )
    return (
        f"CREATE KEYSPACE IF NOT EXISTS {protect_name(name)} "
        f"WITH replication = {{{pairs}}} AND durable_writes = {str(bool(durable_writes)).lower()}"
    )


def _on_each_connection(
    text: str, connections: Connections, dry_run: bool = False
) -> Operation[list[str]]:
    """Execute a statement on each connection; return a list that has it once per connection."""
    _check_environment()
    names = _names_to_visit(connections, "connections")
    for connection in names:
        if dry_run:
            print(f"{text};")
            continue
        log.info(format_log_context(text, connection))
        yield simple_request(text, connection, DDL_TIMEOUT)
    # The statement is the same on each connection.
    return [text] * len(names)


def _create_simple(
    name: str, factor: int, durable: bool, connections: Connections, dry_run: bool
) -> Operation[list[str]]:
    """Create a keyspace with SimpleStrategy on each connection; return the statements."""
    replication = {"class": "SimpleStrategy", "replication_factor": factor}
    text = _create_keyspace_cql(name, replication, durable)
    return _on_each_connection(text, connections, dry_run)


def _create_network(
    name: str,
    factors: Mapping[str, Any],
    durable: bool,
    connections: Connections,
    dry_run: bool,
) -> Operation[list[str]]:
    """Create a keyspace with NetworkTopologyStrategy on each connection."""
    if not isinstance(factors, Mapping):
        raise TypeError(
            f"the replication is a mapping of data centres to numbers, not {factors!r}: write "
            "{'dc1': 3}, with the names of SELECT data_center FROM system.local"
        )
    replication = {"class": "NetworkTopologyStrategy", **factors}
    return _on_each_connection(
        _create_keyspace_cql(name, replication, durable), connections, dry_run
    )


def _drop(name: str, connections: Connections) -> Operation[list[str]]:
    text = f"DROP KEYSPACE IF EXISTS {protect_name(name)}"
    return _on_each_connection(text, connections)


@with_example("create_keyspace_simple('name', replication_factor=3)")
def create_keyspace_simple(
    name: str,
    replication_factor: int,
    durable_writes: bool = True,
    connections: Connections = None,
    dry_run: bool = False,
) -> list[str]:
    """Create a keyspace with SimpleStrategy; an existing keyspace stays as it is.

    :param name: the name of the keyspace.
    :param replication_factor: the number of replicas of each partition.
    :param durable_writes: False to bypass the commit log.
    :param connections: names of the connections to create it on; None for the default connection.
    :param dry_run: True to print the statement and not execute it.
    :returns: a list with the statement, once for each connection.
    """
    return run(_create_simple(name, replication_factor, durable_writes, connections, dry_run))


async def acreate_keyspace_simple(
    name: str,
    replication_factor: int,
    durable_writes: bool = True,
    connections: Connections = None,
    dry_run: bool = False,
) -> list[str]:
    """Create a keyspace with SimpleStrategy, on connections of `cassandra.aio`.

    An existing keyspace stays as it is.

    :param name: the name of the keyspace.
    :param replication_factor: the number of replicas of each partition.
    :param durable_writes: False to bypass the commit log.
    :param connections: names of the connections to create it on; None for the default connection.
    :param dry_run: True to print the statement and not execute it.
    :returns: a list with the statement, once for each connection.
    """
    return await arun(
        _create_simple(name, replication_factor, durable_writes, connections, dry_run)
    )


@with_example("create_keyspace_network_topology('name', {'dc1': 3})")
def create_keyspace_network_topology(
    name: str,
    dc_replication_map: Mapping[str, int],
    durable_writes: bool = True,
    connections: Connections = None,
    dry_run: bool = False,
) -> list[str]:
    """Create a keyspace with NetworkTopologyStrategy; an existing keyspace stays as it is.

    :param name: the name of the keyspace.
    :param dc_replication_map: replication factor by data center.
    :param durable_writes: False to bypass the commit log.
    :param connections: names of the connections to create it on; None for the default connection.
    :param dry_run: True to print the statement and not execute it.
    :returns: a list with the statement, once for each connection.
    """
    return run(_create_network(name, dc_replication_map, durable_writes, connections, dry_run))


async def acreate_keyspace_network_topology(
    name: str,
    dc_replication_map: Mapping[str, int],
    durable_writes: bool = True,
    connections: Connections = None,
    dry_run: bool = False,
) -> list[str]:
    """Create a keyspace with NetworkTopologyStrategy, on connections of `cassandra.aio`.

    An existing keyspace stays as it is.

    :param name: the name of the keyspace.
    :param dc_replication_map: replication factor by data center.
    :param durable_writes: False to bypass the commit log.
    :param connections: names of the connections to create it on; None for the default connection.
    :param dry_run: True to print the statement and not execute it.
    :returns: a list with the statement, once for each connection.
    """
    return await arun(
        _create_network(name, dc_replication_map, durable_writes, connections, dry_run)
    )


def drop_keyspace(name: str, connections: Connections = None) -> None:
    """Drop a keyspace with all its tables and types, if it exists.

    :param name: the name of the keyspace.
    :param connections: names of the connections to drop it on; None for the default connection.
    """
    run(_drop(name, connections))


async def adrop_keyspace(name: str, connections: Connections = None) -> None:
    """Drop a keyspace with all its tables and types, if it exists, on `cassandra.aio` connections.

    :param name: the name of the keyspace.
    :param connections: names of the connections to drop it on; None for the default connection.
    """
    await arun(_drop(name, connections))


# -- reading the schema ----------------------------------------------------------------------------


def _schema_rows(
    table: str, connection: str | None, **keys: str
) -> Generator[Request, Any, list[Any]]:
    """Read rows of a schema table, as dicts.

    :param keys: the columns of the WHERE clause, with their values.
    """
    where = " AND ".join(f"{name} = ?" for name in keys)
    # Select `*`, because the columns of these tables differ between Cassandra and ScyllaDB, and
    # between versions.
    text = f"SELECT * FROM system_schema.{table} WHERE {where}"
    request = Request(text, list(keys.values()), connection)
    # Read all pages: a column whose row is on a later page would otherwise seem to be missing, and
    # `sync_table` would try to add it.
    request.all_pages = True
    rows: list[Any] = yield request
    return rows


def _server_columns(
    keyspace: str, table: str, connection: str | None
) -> Generator[Request, Any, dict[str, ServerColumn]]:
    """Read the columns of a table, by name; an empty dict if the table does not exist."""
    rows = yield from _schema_rows("columns", connection, keyspace_name=keyspace, table_name=table)
    existing = {
        row["column_name"]: ServerColumn(
            row["column_name"],
            row["type"],
            row["kind"],
            row["position"],
            row["clustering_order"] or "none",
        )
        for row in rows
    }
    # The columns show whether a table may be a static table with compact storage. Only then read
    # the table's flags, which need another request.
    if schema_changes.may_be_static_compact(existing):
        rows = yield from _schema_rows(
            "tables", connection, keyspace_name=keyspace, table_name=table
        )
        if rows and schema_changes.is_static_compact(rows[0].get("flags")):
            return schema_changes.visible_columns(existing)
    return existing


def _server_fields(
    keyspace: str, name: str, connection: str | None
) -> Generator[Request, Any, dict[str, str] | None]:
    """Read the fields of a user-defined type, as {name: CQL type}; None if no such type exists."""
    rows = yield from _schema_rows("types", connection, keyspace_name=keyspace, type_name=name)
    if not rows:
        return None
    return dict(zip(rows[0]["field_names"], rows[0]["field_types"], strict=True))


class NotAModel(CQLEngineException, ValueError, TypeError):
    """An argument is not a model or user-defined type, although the function needs one.

    The class derives from three exceptions, because cassandra-driver raises CQLEngineException,
    ValueError or TypeError, depending on the function and the argument.
    """


class _Changes:
    """Executes statements that change the schema, or only prints them in a dry run.

    The attribute `texts` is the list of the statements that were executed or printed.
    """

    def __init__(self, connection: str | None, keyspace: str, dry_run: bool) -> None:
        self.connection = connection
        self.keyspace = keyspace
        self.dry_run = dry_run
        self.texts: list[str] = []

    def execute(self, text: str) -> Operation[bool]:
        """Execute a statement that changes the schema, or print it in a dry run.

        Return False if another process has just made the same change: the caller then reads the
        schema again. Otherwise return True.
        """
        self.texts.append(text)
        if self.dry_run:
            print(f"{text};")
            return True
        log.info(format_log_context(text, self.connection, self.keyspace))
        try:
            yield simple_request(text, self.connection, DDL_TIMEOUT)
        except AlreadyExists:
            # The caller reads the schema again, and any node may answer. So wait until all nodes
            # have the other process's change.
            yield self.agreement()
            return False
        except InvalidRequest as error:
            # The server refuses an ALTER if another process has just added the same column or
            # field. If it refuses a statement for any other reason, the model is wrong.
            if not _means_already_there(str(error)):
                raise
            yield self.agreement()
            return False
        return True

    def agreement(self) -> Request:
        """Return a request that waits until all nodes have the same schema version."""
        return Call(
            lambda connection: connection.session.wait_for_schema_agreement(), self.connection
        )

    def warn(self, message: str) -> None:
        """Warn about a difference between the model and the schema that no ALTER will remove."""
        warnings.warn(message, stacklevel=stack_level())
        log.warning(format_log_context(message, self.connection, self.keyspace))


def _means_already_there(message: str) -> bool:
    """Return True if the message of an InvalidRequest says that a column or field exists already.

    Servers use the general code of an invalid request for this error, so check the message.
    """
    text = message.lower()
    return "already exist" in text or "conflicts with an existing" in text


# -- types -----------------------------------------------------------------------------------------


def get_create_type(type_model: type[UserType], keyspace: str) -> str:
    """Return the CREATE TYPE statement of a user-defined type.

    :param type_model: a subclass of `UserType`.
    :param keyspace: the name of the keyspace.
    """
    return schema_changes.create_type(type_model, keyspace)


def _sync_type(type_model: object, changes: _Changes) -> Operation[None]:
    """Create a user-defined type or add its missing fields; types of fields are created first."""
    _check_class(type_model, UserType, "sync_type")
    if not isinstance(type_model, type) or not issubclass(type_model, UserType):
        raise NotAModel(f"Types must be derived from base UserType, not {type_model!r}.")
    field_types: list[type[UserType]] = []
    for column in type_model.fields().values():
        # Append to `field_types` the user-defined types that the column needs, also those of its
        # elements.
        resolve_udts(column, field_types)
    # Create the types of the fields first, because servers refuse a field whose type does not exist
    # yet.
    for field_type in dict.fromkeys(field_types):
        yield from _sync_type(field_type, changes)
    keyspace, connection = changes.keyspace, changes.connection
    existing = yield from _server_fields(keyspace, type_model.type_name(), connection)
    if existing is None:
        is_created = yield from changes.execute(get_create_type(type_model, keyspace))
        # False means that another process has just created the type. That process may have another
        # version of the class, so read the fields of the type and add those that are missing.
        if not is_created:
            existing = yield from _server_fields(keyspace, type_model.type_name(), connection)
    if existing is not None:
        alters, warnings = schema_changes.add_fields(type_model, keyspace, existing)
        for message in warnings:
            changes.warn(message)
        for text in alters:
            # `execute` returns False if another process seems to have added the same field. If the
            # field is still missing, the server refused it for another reason.
            if not (yield from changes.execute(text)):
                fields = yield from _server_fields(keyspace, type_model.type_name(), connection)
                if text in schema_changes.add_fields(type_model, keyspace, fields or {})[0]:
                    raise CQLEngineException(f"{text} was refused, and the field is not there")
    # Register the class with the cluster, except in a dry run: the type may not exist then.
    if not changes.dry_run:
        name = type_model.type_name()
        yield Call(
            lambda connected: connected.cluster.register_user_type(keyspace, name, type_model),
            connection,
        )


def _type_operation(
    ks_name: str, type_model: object, connection: str | None, dry_run: bool
) -> Operation[list[str]]:
    """Create or extend a type in one keyspace; return the statements."""
    _check_environment()
    changes = _Changes(connection, ks_name, dry_run)
    yield from _sync_type(type_model, changes)
    return changes.texts


@with_example("sync_type('keyspace', Address)")
def sync_type(
    ks_name: str,
    type_model: type[UserType],
    connection: str | None = None,
    dry_run: bool = False,
) -> list[str]:
    """Create a user-defined type, or add the fields that it lacks.

    This also creates or extends the types of its fields.

    :param ks_name: the name of the keyspace.
    :param type_model: a subclass of `UserType`.
    :param connection: the name of the connection; None for the default connection.
    :param dry_run: True to print the statements and not execute them.
    :returns: the statements.
    """
    return run(_type_operation(ks_name, type_model, connection, dry_run))


async def async_type(
    ks_name: str,
    type_model: type[UserType],
    connection: str | None = None,
    dry_run: bool = False,
) -> list[str]:
    """Create or extend a user-defined type on a connection of `cassandra.aio`, like `sync_type`.

    :param ks_name: the name of the keyspace.
    :param type_model: a subclass of `UserType`.
    :param connection: the name of the connection; None for the default connection.
    :param dry_run: True to print the statements and not execute them.
    """
    return await arun(_type_operation(ks_name, type_model, connection, dry_run))


# -- tables ----------------------------------------------------------------------------------------


def _check_class(model: object, base: type, function: str) -> None:
    """Raise an error if `model` is an instance of `base` and not a class.

    :param function: the name of the function, for the message.
    """
    if isinstance(model, base):
        raise NotAModel(f"{function} takes the class {type(model).__name__}, not an instance")


def _check_model(model: object, function: str) -> None:
    """Raise NotAModel unless `model` is a model class."""
    _check_class(model, BaseModel, function)
    if not isinstance(model, type) or not issubclass(model, BaseModel):
        if isinstance(model, (list, tuple, set)):
            advice = f" Call {function} for each of them."
        elif isinstance(model, str):
            advice = " Write the class, without quotes."
        elif isinstance(model, type) and issubclass(model, UserType):
            advice = f" Write sync_type(keyspace, {model.__name__})."
        else:
            advice = ""
        raise NotAModel(f"Models must be derived from base Model, not {model!r}.{advice}")


def _sync_operation(
    model: type[BaseModel], keyspaces: Keyspaces, connections: Connections, dry_run: bool
) -> Operation[list[str]]:
    """Create or extend a model's table in each keyspace on each connection.

    Return all statements that were executed or, in a dry run, printed.
    """
    _check_environment()
    _check_model(model, "sync_table")
    if model.__abstract__:
        raise CQLEngineException(f"cannot create table from abstract model {model.__name__}")
    schema_changes.check_options(model)
    texts: list[str] = []
    for connection in _names_to_visit(connections, "connections"):
        for keyspace in _names_to_visit(keyspaces, "keyspaces"):
            table = model.__mapping__.table_name(keyspace)
            # The keyspace's name without quotes, as the schema tables have it.
            keyspace_name = keyspace or model.__keyspace__ or default_keyspace() or ""
            changes = _Changes(connection or model.__connection__, keyspace_name, dry_run)
            yield from _sync_table_in_keyspace(model, table, changes)
            texts += changes.texts
    return texts


def _sync_table_in_keyspace(
    model: type[BaseModel], table: str, changes: _Changes
) -> Operation[None]:
    """Create or extend the table of a model in one keyspace.

    :param table: the table's name in CQL, with the keyspace.
    :param changes: executes the statements, and collects them.
    """
    keyspace, connection = changes.keyspace, changes.connection
    keyspaces = yield from _schema_rows("keyspaces", connection, keyspace_name=keyspace)
    # Do not create the keyspace: only the application knows which replication it needs.
    if not keyspaces:
        raise CQLEngineException(f"Keyspace '{keyspace}' for model {model.__name__} does not exist")
    if model.__default_ttl__ and "default_time_to_live" not in (model.__options__ or {}):
        # Like cassandra-driver, ignore the attribute: if it had an effect, rows of applications
        # that set it would begin to expire.
        changes.warn(
            f"{model.__name__}.__default_ttl__ = {model.__default_ttl__!r} has no effect: say "
            f'__options__ = {{"default_time_to_live": {model.__default_ttl__!r}}}'
        )
    user_types: list[type[UserType]] = []
    for column in model.__mapping__.order:
        resolve_udts(column, user_types)
    # Sync the types first, because CREATE TABLE refuses columns of types that do not exist.
    for type_model in dict.fromkeys(user_types):
        yield from _sync_type(type_model, changes)
    # `quoted_name` is the table's name as CQL, `stored_name` as the schema tables have it.
    quoted_name = model.column_family_name(include_keyspace=False)
    stored_name = model._table_name()
    existing = yield from _server_columns(keyspace, stored_name, connection)
    if not existing:
        yield from changes.execute(schema_changes.create_table(model, table))
        # Another process may have created the table in the meantime, with fewer columns than the
        # model.
        existing = yield from _server_columns(keyspace, stored_name, connection)
    if existing:  # false in a dry run if the table does not exist
        yield from _alter_table(model, table, stored_name, existing, changes)
    # Create indexes last, because their columns may have been added by the lines above.
    indexes = yield from _schema_rows(
        "indexes", connection, keyspace_name=keyspace, table_name=stored_name
    )
    # The option "target" of an index names its column.
    targets = [(row["options"] or {}).get("target", "") for row in indexes]
    for text in schema_changes.missing_indexes(model, table, quoted_name, targets):
        yield from changes.execute(text)


def _alter_table(
    model: type[BaseModel],
    table: str,
    stored_name: str,
    existing: dict[str, ServerColumn],
    changes: _Changes,
) -> Operation[None]:
    """Add the columns that an existing table lacks, and set the options that differ.

    :param table: the table's name in CQL, with the keyspace.
    :param stored_name: the table's name in the schema tables.
    :param existing: the table's columns.
    """
    alters, warnings = schema_changes.add_columns(model, table, existing)
    for message in warnings:
        changes.warn(message)
    for text in alters:
        # `execute` returns False if another process seems to have added the same column. If the
        # column is still missing, the server refused it for another reason.
        if not (yield from changes.execute(text)):
            columns = yield from _server_columns(changes.keyspace, stored_name, changes.connection)
            if text in schema_changes.add_columns(model, table, columns)[0]:
                raise CQLEngineException(f"{text} was refused, and the column is not there")
    rows = yield from _schema_rows(
        "tables", changes.connection, keyspace_name=changes.keyspace, table_name=stored_name
    )
    if rows:
        for text in schema_changes.option_changes(model, table, rows[0]):
            yield from changes.execute(text)


def sync_table(
    model: type[BaseModel],
    keyspaces: Keyspaces = None,
    connections: Connections = None,
    dry_run: bool = False,
) -> list[str]:
    """Create the table of `model`, or add what it lacks.

    This adds columns, indexes and user-defined types, and sets options that differ. It never drops
    a column or makes its type narrower: for such differences it only warns. Several processes may
    sync at the same time.

    :param model: the model class, which is not abstract.
    :param keyspaces: names of the keyspaces; None for the model's keyspace.
    :param connections: names of the connections; None for the model's, or the default connection.
    :param dry_run: True to print the statements and not execute them.
    :returns: the statements.
    :raises CQLEngineException: if the keyspace does not exist, or the table has another primary
        key.
    """
    return run(_sync_operation(model, keyspaces, connections, dry_run))


async def async_table(
    model: type[BaseModel],
    keyspaces: Keyspaces = None,
    connections: Connections = None,
    dry_run: bool = False,
) -> list[str]:
    """Create or extend the table of `model` on connections of `cassandra.aio`, like `sync_table`.

    :param model: the model class, which is not abstract.
    :param keyspaces: names of the keyspaces; None for the model's keyspace.
    :param connections: names of the connections; None for the model's, or the default connection.
    :param dry_run: True to print the statements and not execute them.
    """
    return await arun(_sync_operation(model, keyspaces, connections, dry_run))


def _drop_operation(
    model: type[BaseModel], keyspaces: Keyspaces, connections: Connections
) -> Operation[None]:
    """Drop the table of a model in each keyspace, on each connection."""
    _check_environment()
    _check_model(model, "drop_table")
    for connection in _names_to_visit(connections, "connections"):
        for keyspace in _names_to_visit(keyspaces, "keyspaces"):
            table = model.__mapping__.table_name(keyspace)
            yield simple_request(
                f"DROP TABLE IF EXISTS {table}", connection or model.__connection__, DDL_TIMEOUT
            )


def drop_table(
    model: type[BaseModel], keyspaces: Keyspaces = None, connections: Connections = None
) -> None:
    """Drop the table of `model` with all its rows, if it exists.

    :param model: the model class.
    :param keyspaces: names of the keyspaces; None for the model's keyspace.
    :param connections: names of the connections; None for the model's, or the default connection.
    """
    run(_drop_operation(model, keyspaces, connections))


async def adrop_table(
    model: type[BaseModel], keyspaces: Keyspaces = None, connections: Connections = None
) -> None:
    """Drop the table of `model` with all its rows, if it exists, on connections of `cassandra.aio`.

    :param model: the model class.
    :param keyspaces: names of the keyspaces; None for the model's keyspace.
    :param connections: names of the connections; None for the model's, or the default connection.
    """
    await arun(_drop_operation(model, keyspaces, connections))


# The same functions under names that are formed like those of the blocking functions.
async_sync_table = async_table
async_sync_type = async_type


# Set `__getattr__` through globals(), so that type checkers still report unknown names.
globals()["__getattr__"] = refuse_names(__name__, MANAGEMENT)
