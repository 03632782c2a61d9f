"""Names that users of other libraries type, and what they are called here.

Somebody who comes from the DB-API, from asyncpg or SQLAlchemy writes ``cursor``, ``fetchall`` or
``commit``. The error for such a name says what to write instead. The names are attributes of the
class that raise AttributeError when they are looked up: `hasattr` says False, a subclass or an
object may define them, and attributes that exist are found as fast as before.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Mapping
from typing import Any

from cassandra._misspelt import class_attribute, is_of_driver

__all__ = [
    "ASYNC_SESSION",
    "BATCH",
    "CLUSTER",
    "DATE",
    "FUTURE",
    "HOST",
    "METADATA",
    "PREPARED",
    "RESULT",
    "SCAN",
    "SESSION",
    "SESSION_SETTINGS",
    "STATEMENT_SETTINGS",
    "TIME",
    "Habit",
    "WrongSetting",
    "add_habits",
    "awaited",
    "no_attribute",
    "stack_level",
]


class Habit:
    """The place of a name that a class does not have.

    :param name: the name.
    :param advice: what to write instead.
    """

    __slots__ = ("advice", "name")

    def __init__(self, name: str, advice: str) -> None:
        self.name = name
        self.advice = advice

    def __get__(self, holder: object, owner: type) -> Any:
        raise AttributeError(
            f"{owner.__name__!r} object has no attribute {self.name!r}: {self.advice}"
        )


class WrongSetting(Habit):
    """The place of a name that is set by mistake. The value is kept, as it always was."""

    __slots__ = ()

    def __get__(self, holder: object, owner: type) -> Any:
        kept = getattr(holder, "__dict__", {})
        if self.name in kept:
            return kept[self.name]
        return super().__get__(holder, owner)

    def __set__(self, holder: Any, value: object) -> None:
        kind = type(holder)
        # A class of the user's may have attributes of its own.
        if is_of_driver(kind):
            warnings.warn(
                f"{kind.__name__}.{self.name} has no effect: {self.advice}",
                RuntimeWarning,
                stacklevel=stack_level(),
            )
        holder.__dict__[self.name] = value

    def __delete__(self, holder: Any) -> None:
        try:
            del holder.__dict__[self.name]
        except KeyError:
            raise AttributeError(self.name) from None


class _NoLength(TypeError, AttributeError):
    """Both: `list` asks for a length and goes on after a TypeError, `hasattr` after the other."""


# Tracebacks name what users may expect here.
_NoLength.__name__ = _NoLength.__qualname__ = "TypeError"
_NoLength.__module__ = "builtins"


class _Length(Habit):
    __slots__ = ()

    def __get__(self, holder: object, owner: type) -> Any:
        raise _NoLength(f"object of type {owner.__name__!r} has no len(): {self.advice}")


def stack_level() -> int:
    """Return the `stacklevel` for a warning of the caller to name the line of the user."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("cassandra"):
        level, frame = level + 1, frame.f_back
    return level


def no_attribute(holder: object, name: str) -> AttributeError:
    """Return the error for a missing attribute, for a class that has ``__getattr__``.

    :param holder: the object.
    :param name: the attribute.
    """
    kind = type(holder)
    habit = class_attribute(kind, name)
    advice = f": {habit.advice}" if isinstance(habit, Habit) else ""
    return AttributeError(f"{kind.__name__!r} object has no attribute {name!r}{advice}")


def _names_of(holder: object) -> list[str]:
    """Return the names of an object, as `dir` does, without those that it only gives advice for."""
    return [
        name
        for name in object.__dir__(holder)
        if not isinstance(class_attribute(type(holder), name), Habit)
    ]


def add_habits(
    kind: type, advice: Mapping[str, str], length: str | None = None, settings: bool = False
) -> None:
    """Let a class say what to write in place of names that it does not have.

    :param kind: the class. Names that it has stay as they are.
    :param advice: what to write instead, by name.
    :param length: what to write in place of ``len()``; None if the class is left as it is.
    :param settings: True if the names are settings, so that setting them warns.
    """
    habit = WrongSetting if settings else Habit
    existing = {name for one in kind.__mro__ for name in vars(one)}
    for name, text in advice.items():
        if name not in existing:
            setattr(kind, name, habit(name, text))
    setattr(kind, "__dir__", _names_of)  # noqa: B010
    if length is not None:
        # By name: to type checkers, the class has no length.
        setattr(kind, "__len__", _Length("__len__", length))  # noqa: B010


# The calls that are awaited on asyncio; what follows a point is of their result.
_WAITING = (
    r"((?:session\.(?:execute|load|unload|prepare|set_keyspace|shutdown)|cluster\.(?:connect|shutdown)"
    r"|result\.to_\w+)\((?:[^()]|\([^()]*\))*\))(\.)?"
)


def awaited(advice: Mapping[str, str], *more: Mapping[str, str]) -> dict[str, str]:
    """Return the table of a blocking class for the asyncio class of the same name.

    :param advice: the table of the blocking class.
    :param more: further tables, which win.
    """

    def awaiting(call: re.Match[str]) -> str:
        return f"(await {call[1]})." if call[2] else f"await {call[1]}"

    made = {name: re.sub(_WAITING, awaiting, text) for name, text in advice.items()}
    for one in more:
        made.update(one)
    return made


def _same(text: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), text)


SESSION: dict[str, str] = {
    **_same(
        "a session executes statements itself; write session.execute(query, parameters)",
        "cursor query run sql select execute_query do text",
    ),
    **_same(
        "there is nothing to commit: each statement is applied when it is executed. "
        "To apply several together, write session.execute(batch) with a BatchStatement",
        "commit rollback begin transaction start_transaction autocommit atomic flush",
    ),
    **_same(
        "write session.shutdown(), or connect in a `with` block",
        "close disconnect quit stop dispose aclose",
    ),
    **_same(
        "write session.execute_concurrent_with_args(session.prepare(text), rows); "
        "session.load(table, rows) writes files, frames and rows of any number",
        "executemany execute_many execute_values insert_many bulk_insert insert add_all "
        "bulk_save_objects copy_records_to_table to_sql write copy_from pipeline",
    ),
    **_same(
        "write session.execute(query, parameters).all()",
        "fetch fetchall fetch_all scalars all read_sql",
    ),
    **_same(
        "write session.execute(query, parameters).one()",
        "fetchone fetchrow fetch_one fetchval scalar one first get",
    ),
    **_same("write session.execute(batch) with a BatchStatement", "execute_batch batch"),
    **_same("write session.set_keyspace('name')", "use use_keyspace use_database select_db"),
    **_same("cluster.connect() makes sessions; this one is connected", "connect open reconnect"),
    **_same("write session.prepare(text)", "create_prepared prepare_statement prepared"),
    **_same(
        "iterate over the result: it fetches page after page, with a default_fetch_size of 5,000",
        "stream iterate paginate iterparse execute_paged execute_iter",
    ),
    **_same(
        "cluster.register_user_type(keyspace, type, cls) does it", "register_udt register_type"
    ),
    **_same("write session.is_shutdown", "closed is_closed is_open is_connected"),
    **_same("write session.cluster.metadata.keyspaces", "metadata schema tables keyspaces"),
    **_same("write session.load(table, source)", "copy bulk_load import_csv load_csv"),
    **_same("write session.unload(table, path)", "export dump to_csv export_csv"),
    **_same(
        "write session.execute(query).to_pandas(), or session.scan(table).to_pandas()",
        "to_pandas to_df read_table dataframe",
    ),
    **_same(
        "write await session.execute(query) with a session of cassandra.aio, "
        "or session.execute_async(query).result()",
        "execute_future execute_awaitable aexecute",
    ),
}

SESSION_SETTINGS: dict[str, str] = {
    **_same(
        "write session.default_consistency_level, or consistency_level of a profile or statement",
        "consistency_level consistency",
    ),
    **_same(
        "write session.default_timeout, request_timeout of a profile, or execute(..., timeout=)",
        "timeout request_timeout",
    ),
    **_same(
        "write session.default_fetch_size, or fetch_size of a statement", "fetch_size page_size"
    ),
    **_same("write retry_policy of a profile or a statement", "retry_policy"),
}

ASYNC_SESSION: dict[str, str] = {
    **_same(
        "write `result = await session.execute(query)`; for many at a time, "
        "session.execute_concurrent or asyncio.gather",
        "execute_async submit aexecute execute_future",
    ),
    **_same("write await session.prepare(text)", "prepare_async create_prepared aprepare"),
    **_same(
        "write `async for success, result in session.execute_concurrent("
        "(prepared, row) for row in rows)`; await session.load(table, rows) takes any number",
        "execute_concurrent_with_args execute_concurrent_async executemany execute_many "
        "execute_values insert_many bulk_insert add_all copy_records_to_table",
    ),
    **_same("write await session.shutdown(), or use `async with`", "close aclose"),
}

CLUSTER: dict[str, str] = {
    **_same(
        "sessions execute statements; write session = cluster.connect(), "
        "then session.execute(query)",
        "execute execute_async query cursor prepare run executemany fetch",
    ),
    **_same("write cluster.shutdown(), or use a `with` block", "close disconnect stop quit aclose"),
    **_same(
        "write session = cluster.connect(keyspace)",
        "session new_session create_session get_session newSession connection acquire",
    ),
    **_same("there is nothing to commit: statements are applied one by one", "commit rollback"),
    **_same("write cluster.metadata.keyspaces", "keyspaces tables schema get_keyspaces"),
    **_same("write cluster.metadata.all_hosts()", "hosts nodes get_hosts all_hosts"),
    **_same(
        "write cluster.connect('name'), or session.set_keyspace('name')",
        "set_keyspace use keyspace",
    ),
    **_same("write cluster.is_shutdown", "closed is_closed is_connected"),
}

RESULT: dict[str, str] = {
    **_same("write result.all()", "fetchall fetch_all to_list tolist list items records"),
    **_same("write result.one()", "fetchone fetch_one first next_row single head"),
    **_same(
        "write result.current_rows for the rows of a page; fetch_size sets how many those are",
        "fetchmany rows page data",
    ),
    **_same("write result.one()[0]", "scalar scalar_one scalar_one_or_none fetchval value"),
    **_same("write [row[0] for row in result]", "scalars flatten"),
    **_same(
        "servers do not count rows: write len(result.all()), or SELECT count(*)",
        "rowcount row_count count num_rows size total",
    ),
    **_same("write result.column_names", "description columns keys fields header"),
    **_same("write result.to_pandas()", "to_df df dataframe to_dataframe to_frame pandas"),
    **_same("write result.to_arrow()", "arrow to_table fetch_arrow_table to_arrow_table"),
    **_same("write result.to_polars()", "pl polars"),
    **_same(
        "for rows as dicts, set session.row_factory = cassandra.query.dict_factory first",
        "mappings to_dicts dicts to_dict dictresult asdict",
    ),
    **_same("write result.fetch_next_page()", "next_page fetch_next get_next_page"),
    **_same("write result.paging_state", "page_state paging_token next_page_token cursor"),
    **_same("write result.was_applied", "applied is_applied"),
    **_same("this is the result already; execute_async returns a future", "result get"),
    **_same("a result needs no closing", "close"),
    **_same("Cassandra has no generated keys: make the id yourself, by uuid.uuid4()", "lastrowid"),
}

FUTURE: dict[str, str] = {
    **_same("this is a future; write future.result().one()", "one first fetchone"),
    **_same("this is a future; write future.result().all()", "all fetchall rows current_rows"),
    **_same("write future.result()", "get wait join value"),
    **_same(
        "write future.add_callbacks(callback, errback)", "add_done_callback then on_done subscribe"
    ),
    **_same("requests cannot be cancelled; their timeout ends them", "cancel cancelled"),
    **_same("write future.result(), which raises it", "exception error_of"),
}

PREPARED: dict[str, str] = {
    **_same(
        "write session.execute(prepared, values); "
        "functions of cassandra.concurrent take the session first",
        "execute execute_async run query fetch fetchall",
    ),
    **_same("write prepared.bind(values)", "bind_list bind_dict bind_all set_values set"),
    **_same("write prepared.query_string", "query text cql statement"),
}

BATCH: dict[str, str] = {
    **_same("write session.execute(batch)", "execute run commit send save apply"),
    **_same("write batch.add(statement, parameters)", "append insert add_statement add_query"),
    **_same("write batch.add_many(prepared, rows)", "executemany extend add_rows"),
}

STATEMENT_SETTINGS: dict[str, str] = {
    **_same(
        "did you mean consistency_level?",
        "consistency consistencylevel consistency_lvl consistancy_level consitency_level "
        "consistencyLevel",
    ),
    **_same(
        "did you mean serial_consistency_level?",
        "serial_consistency serialconsistencylevel serial_level serialConsistencyLevel",
    ),
    **_same(
        "did you mean fetch_size?", "fetchsize page_size pagesize fetchSize page_limit fetchSizes"
    ),
    **_same(
        "did you mean is_idempotent?",
        "idempotent idempotence isidempotent is_idempotant isIdempotent is_idempotence",
    ),
    **_same("did you mean retry_policy?", "retrypolicy retryPolicy retries"),
    **_same("write session.execute(statement, timeout=seconds)", "timeout request_timeout"),
    **_same("write USING TTL ? or USING TIMESTAMP ? in the statement's text", "ttl timestamp"),
    **_same("write session.execute(statement, paging_state=...)", "paging_state"),
    **_same("write session.row_factory, or row_type= of execute", "row_factory row_type"),
}

SCAN: dict[str, str] = {
    **_same("iterate over the scan, or write scan.to_pandas()", "all rows fetchall one first"),
    **_same("write scan.to_pandas()", "to_df df dataframe to_dataframe read"),
    **_same("iterate over scan.arrow_batches()", "batches to_batches chunks pages_arrow"),
}

METADATA: dict[str, str] = {
    **_same("write metadata.keyspaces['keyspace'].tables", "tables get_tables table"),
    **_same("write metadata.all_hosts()", "hosts nodes peers"),
}

HOST: dict[str, str] = {
    **_same("write host.address", "ip ip_address hostname name host addr"),
    **_same("write host.is_up", "up is_alive alive status is_down"),
    **_same("write host.datacenter", "dc data_center"),
    **_same("write host.release_version", "version cassandra_version"),
}

DATE: dict[str, str] = _same(
    "write value.date(), which is a datetime.date (a Date holds years that those cannot)",
    "year month day isoformat strftime weekday isoweekday timetuple toordinal replace",
)

TIME: dict[str, str] = _same(
    "write value.time(), which is a datetime.time (a Time has nanoseconds)",
    "isoformat strftime microsecond tzinfo replace",
)
