"""Advice for names that users of other libraries type by habit.

Users of the DB-API, asyncpg or SQLAlchemy may write ``cursor``, ``fetchall`` or ``commit``. The
error for such a name says what to write instead. For each name, `add_habits` adds an attribute to
the class that raises AttributeError when it is accessed. Thus `hasattr` still returns False, a
subclass or an object may still define the name, and access to other attributes is not slower.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cassandra._clocks import running_loop
from cassandra._misspelt import class_attribute, is_of_driver, similar_setting

if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn


class Habit:
    """Raises AttributeError with advice for a name that the class does not have.

    :param advice: what to write instead.
    """

    __slots__ = ("advice", "name")

    def __init__(self, name: str, advice: str) -> None:
        self.name = name
        self.advice = advice

    def __get__(self, holder: object, owner: type) -> Any:
        # If an application's subclass has further base classes, a base may define an attribute of
        # this name. Use that attribute, although the driver's class comes first in the resolution
        # order.
        for base in owner.__mro__:
            value = vars(base).get(self.name, self)
            if not isinstance(value, Habit):
                bind = getattr(type(value), "__get__", None)
                return value if bind is None else bind(value, holder, owner)
        raise AttributeError(
            f"{owner.__name__!r} object has no attribute {self.name!r}: {self.advice}"
        )


class WrongSetting(Habit):
    """Warns when an attribute is set that has no effect, such as ``session.timeout``.

    The value is stored, as in any Python object.
    """

    __slots__ = ()

    def __get__(self, holder: object, owner: type) -> Any:
        # Once the attribute was set, return its value. Before that, raise AttributeError.
        attributes = getattr(holder, "__dict__", {})
        if self.name in attributes:
            return attributes[self.name]
        return super().__get__(holder, owner)

    def __set__(self, instance: Any, value: object) -> None:
        cls = type(instance)
        # Do not warn if the class is a user's subclass: it may use this attribute for itself.
        if is_of_driver(cls):
            warnings.warn(
                f"{cls.__name__}.{self.name} has no effect: {self.advice}",
                RuntimeWarning,
                stacklevel=stack_level(),
            )
        instance.__dict__[self.name] = value

    def __delete__(self, holder: Any) -> None:
        try:
            del holder.__dict__[self.name]
        except KeyError:
            raise AttributeError(self.name) from None


class _NoLength(TypeError, AttributeError):
    """The error for a special method that a class does not have, such as ``__len__``.

    The error derives from two classes, so that neither `list(holder)` nor `hasattr` fails: `list`
    asks for a length and ignores a TypeError, and `hasattr` ignores an AttributeError.
    """


# Show the class as TypeError in tracebacks, because Python itself raises TypeError for such
# mistakes.
_NoLength.__name__ = _NoLength.__qualname__ = "TypeError"
_NoLength.__module__ = "builtins"


class _Length(Habit):
    """Raises an error with advice if Python looks up ``__len__``."""

    __slots__ = ()

    def __get__(self, holder: object, owner: type) -> NoReturn:
        raise _NoLength(f"object of type {owner.__name__!r} has no len(): {self.advice}")


class _Operation(Habit):
    """Raises an error with advice if Python looks up a special method, such as ``__enter__``."""

    __slots__ = ()

    def __get__(self, holder: object, owner: type) -> NoReturn:
        what = _OPERATIONS[self.name]
        if self.name == "__getitem__" and hasattr(owner, "__iter__"):
            what = "[...]"
        raise _NoLength(f"{owner.__name__!r} object does not support {what}: {self.advice}")


# For each special method, the syntax that makes Python look it up; used in error messages.
_OPERATIONS = {
    "__aenter__": "`async with`",
    "__aexit__": "`async with`",
    "__enter__": "`with`",
    "__exit__": "`with`",
    "__getitem__": "iteration and [...]",
}
# For the method that begins a `with` statement, the method that ends it. Python 3.14 looks up
# ``__exit__`` first, so both methods must give the advice.
_OTHER_END = {"__aenter__": "__aexit__", "__enter__": "__exit__"}


def stack_level() -> int:
    """Return the `stacklevel` of a warning that points to the line of user code that called us."""
    return _level_and_frame(sys._getframe(1))[0]


def frame_of_user_code() -> FrameType:
    """Return the frame of user code that called the driver."""
    return _level_and_frame(sys._getframe(1))[1]


def is_of_driver_frame(frame: FrameType) -> bool:
    """Return True if a frame runs code of this package."""
    # The globals of code that `exec` runs may have no name, or a name that is not a string. Compare
    # with a dot, because an application's module may be called cassandra_client.
    name = frame.f_globals.get("__name__")
    return isinstance(name, str) and (name == "cassandra" or name.startswith("cassandra."))


def _level_and_frame(frame: FrameType) -> tuple[int, FrameType]:
    """Skip the frames of this package, and return the stack level and the frame of user code.

    :param frame: the frame at which to begin.
    :returns: one more than the number of skipped frames, and the first frame that is not ours.
    """
    level = 1
    while frame.f_back is not None and is_of_driver_frame(frame):
        level, frame = level + 1, frame.f_back
    return level, frame


def warn_of_milliseconds(name: str, seconds: float) -> None:
    """Warn of a time in seconds that was probably meant in milliseconds.

    There is no warning for a whole number of hours, which is probably meant in seconds. There is
    also no warning above 600,000, because applications pass such numbers for "no limit".

    :param name: the setting, for the message.
    :param seconds: the value of the setting.
    """
    if _SHORT_TIME <= seconds <= _LONG_TIME and seconds % 3600:
        warnings.warn(
            f"{name}={seconds} is in seconds, more than {seconds // 3600:g} h: write "
            f"{name}={seconds / 1000:g} for {seconds} milliseconds",
            RuntimeWarning,
            stacklevel=stack_level(),
        )


# The range in which a number of seconds is suspicious: a number of milliseconds is usually from
# 5,000 (5 seconds) to 600,000 (10 minutes).
_SHORT_TIME, _LONG_TIME = 5_000, 600_000


def warn_of_reconnection_milliseconds(name: str, seconds: float) -> None:
    """Warn of a delay between attempts to reconnect that was probably meant in milliseconds.

    Such delays are usually short, so this also warns of smaller numbers than
    `warn_of_milliseconds`. There is no warning for a whole number of quarter hours.

    :param name: the parameter, for the message.
    :param seconds: the value of the parameter.
    """
    if not _SHORT_DELAY <= seconds < _SHORT_TIME:
        warn_of_milliseconds(name, seconds)
    elif seconds % 900:
        warnings.warn(
            f"{name}={seconds} is in seconds, more than {seconds // 60:g} min: write "
            f"{name}={seconds / 1000:g} for {seconds} milliseconds",
            RuntimeWarning,
            stacklevel=stack_level(),
        )


# A delay of this many seconds or more between attempts to reconnect is suspicious.
_SHORT_DELAY = 1_000


def class_advice(name: str, cls: type) -> str:
    """Return the error message for a class that was passed in place of an instance of it.

    :param name: the parameter.
    :param cls: the class.
    """
    return f"{name} must be an instance, but is the class {cls.__name__}: write {cls.__name__}(...)"


def many_rows_advice(batch: str = "") -> str:
    """Return how to execute a prepared statement for many rows, for an error message.

    :param batch: a further way, for example "batch.add_many(prepared, rows)".
    """
    # In a coroutine, the session usually belongs to `cassandra.aio`, which has fewer methods. If
    # this guess is wrong, the advice still works, because both kinds of sessions have
    # `execute_concurrent`.
    if running_loop() is not None:
        advice = (
            "`async for success, result in session.execute_concurrent("
            "(prepared, row) for row in rows)`"
        )
    else:
        advice = "session.execute_concurrent_with_args(prepared, rows)"
    return f"{advice} or {batch}" if batch else advice


def warn_of_misspelt_setting(holder: object, name: str, settings: Iterable[str]) -> None:
    """Warn if an attribute that is being set is probably a misspelt setting.

    Setting such an attribute is not an error, because user code may store its own attributes on the
    object.

    :param holder: the object.
    :param name: the attribute. Existing attributes of the object or its class are not misspelt.
    :param settings: the names of all settings.
    """
    _warn_of_similar(holder, name, frozenset(settings), "did you mean {}?".format)


def warn_of_other_setting(
    holder: object,
    name: str,
    cluster_settings: frozenset[str],
    advice: Mapping[str, str],
) -> None:
    """Warn if an attribute that is being set is a setting of another object, perhaps misspelt.

    An example is ``session.auth_provider``, which is a setting of the cluster.

    :param holder: the object. Existing attributes of the object or its class are correct.
    :param name: the attribute that is set.
    :param cluster_settings: the settings of clusters. Settings that `holder` also has do not
        matter.
    :param advice: for the settings of other objects, what to write instead.
    """

    def advice_on(setting: str) -> str:
        return advice.get(setting) or f"did you mean cluster.{setting}?"

    _warn_of_similar(holder, name, cluster_settings.union(advice), advice_on)


def _warn_of_similar(
    holder: object, name: str, settings: frozenset[str], advice_on: Callable[[str], str]
) -> None:
    """Warn if an attribute that is being set is similar to a name in `settings`.

    Setting such an attribute is not an error, because user code may store its own attributes on the
    object. Objects of a user's subclass are not checked.

    :param advice_on: returns what to write instead of the attribute, for one of `settings`.
    """
    cls = type(holder)
    if name.startswith("_") or not is_of_driver(cls):
        return
    similar_name = similar_setting(holder, name, settings)
    if similar_name is not None:
        warnings.warn(
            f"{cls.__name__}.{name} has no effect: {advice_on(similar_name)}",
            RuntimeWarning,
            stacklevel=stack_level(),
        )


def with_typos(advice: dict[str, str], settings: Iterable[str]) -> dict[str, str]:
    """Return `advice` plus "did you mean ...?" for each setting with a typical typing mistake.

    The mistakes are a missing letter and two swapped letters. Use this for classes whose attributes
    are set too often for a check in ``__setattr__``.

    :param advice: what to write, by name.
    :param settings: the names of the settings.
    """
    typos = {}
    for setting in settings:
        for index in range(len(setting)):
            before, pair, after = setting[:index], setting[index : index + 2], setting[index + 2 :]
            for typo in (before + pair[1:] + after, before + pair[::-1] + after):
                # Skip two equal letters, because swapping them changes nothing.
                if typo != setting:
                    typos[typo] = f"did you mean {setting}?"
    return {**typos, **advice}


def refuse_pickling(holder: object, advice: str) -> None:
    """Raise an error with advice, because an object cannot be pickled or copied deeply.

    Do nothing if a user's subclass has defined ``__reduce__`` or ``__getstate__``, because its
    objects can then be pickled.

    :param holder: the object.
    :param advice: why the object cannot be pickled, and what to do instead.
    :raises TypeError: if the class of the object has neither of these methods.
    """
    cls = type(holder)
    get_state = getattr(cls, "__getstate__", None)
    # Compare with `object.__getstate__`, which exists since Python 3.11.
    has_state = get_state is not getattr(object, "__getstate__", None)
    if cls.__reduce__ is object.__reduce__ and not has_state:
        raise TypeError(f"a {cls.__name__} cannot be pickled or copied deeply: {advice}")


def names_of(holder: object) -> list[str]:
    """Return the names of an object like `dir`, but without names that only give advice."""
    return [
        name
        for name in object.__dir__(holder)
        if not isinstance(class_attribute(type(holder), name), Habit)
    ]


def is_table(values: object) -> bool:
    """Return True for a data frame of pandas or polars, and for an Arrow table."""
    return hasattr(values, "columns") and (
        hasattr(values, "iloc") or hasattr(values, "__arrow_c_stream__")
    )


def refuse_table(values: object) -> NoReturn:
    """Raise TypeError for a data frame or an Arrow table in place of the values of one row.

    Iterating over a pandas frame yields the names of its columns. Without this error, a statement
    whose values are all strings would write these names as one row.
    """
    raise TypeError(
        f"the values of one row are bound here, and not a {type(values).__name__}: write "
        "session.load(table, frame), which writes all of its rows, or batch.add_many(prepared, "
        "frame)"
    )


def add_habits(
    cls: type,
    advice: Mapping[str, str],
    length: str | None = None,
    settings: bool = False,
    operations: Mapping[str, str] | None = None,
) -> None:
    """Add advice to a class, for names that it does not have.

    :param cls: the class. Names that it already has are not changed.
    :param advice: what to write instead, by name.
    :param length: what to write instead of ``len()``; None adds nothing.
    :param settings: True if users set these names as attributes: setting such a name then warns.
    :param operations: what to write instead of a Python statement such as ``with``, by the special
        method that Python looks up for it, such as ``__enter__``.
    """
    habit_class = WrongSetting if settings else Habit
    existing_names = {name for base in cls.__mro__ for name in vars(base)}
    for name, text in advice.items():
        if name not in existing_names:
            # The class and its bases do not have this name: add the advice.
            setattr(cls, name, habit_class(name, text))
    for name, text in (operations or {}).items():
        setattr(cls, name, _Operation(name, text))
        # A `with` statement looks up both __enter__ and __exit__: give the same advice for both.
        if name in _OTHER_END:
            setattr(cls, _OTHER_END[name], _Operation(_OTHER_END[name], text))
    # `dir` must not list names that only give advice.
    setattr(cls, "__dir__", names_of)  # noqa: B010
    if length is not None:
        # Use setattr to hide this method from type checkers.
        setattr(cls, "__len__", _Length("__len__", length))  # noqa: B010


# Matches a call in an advice string that must be awaited in the asyncio API. Group 2 matches if the
# advice then calls a method of the result: the call and its `await` need parentheses in this case.
_WAITING = (
    r"((?:session\.(?:execute|load|unload|count|prepare|set_keyspace|shutdown)|cluster\.(?:connect|shutdown)"
    r"|(?:result|scan)\.to_\w+)\((?:[^()]|\([^()]*\))*\))(\.)?"
)


def awaited(advice: Mapping[str, str], *more: Mapping[str, str]) -> dict[str, str]:
    """Return the advice of a blocking class, with `await` added for the asyncio class.

    :param advice: the advice of the blocking class, by name.
    :param more: further advice, which replaces the advice for the same names.
    """

    def add_await(call: re.Match[str]) -> str:
        # If an attribute of the result follows, `await` needs parentheses.
        return f"(await {call[1]})." if call[2] else f"await {call[1]}"

    advice_by_name = {name: re.sub(_WAITING, add_await, text) for name, text in advice.items()}
    for other_table in more:
        advice_by_name.update(other_table)
    return advice_by_name


def _same(text: str, names: str) -> dict[str, str]:
    """Return a dict with the advice `text` for each of the names, separated by spaces."""
    return dict.fromkeys(names.split(), text)


# The advice for `async with`, for the cluster and the session of the blocking API.
IN_ASYNC = "this is the blocking class; write `with`, or in coroutines use cassandra.aio"

# The following tables have the advice for each class: they map a name that the class does not have
# to what the user should write instead. The tables with SETTINGS in their names are for attributes
# whose setting has no effect (`WrongSetting`).
SESSION: dict[str, str] = {
    "cursor": "a session executes statements itself; write session.execute(query, parameters). For "
    "pandas and polars, write session.execute(query).to_pandas() or .to_polars(), and "
    "session.load(table, frame)",
    **_same(
        "a session executes statements itself; write session.execute(query, parameters)",
        "query run sql select execute_query do text table collection aggregate insert_one "
        "update_one delete_one replace_one execute_prepared",
    ),
    **_same("write session.execute_async(query, parameters)", "executeAsync"),
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
        "fetch fetchall fetch_all scalars all read_sql find",
    ),
    **_same(
        "write session.execute(query, parameters).one()",
        "fetchone fetchrow fetch_one fetchval scalar one first get find_one",
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
    **_same("write session.is_shutdown", "closed is_closed"),
    **_same("write session.cluster.report()", "report status health"),
    **_same("write session.add_request_observer(observer)", "add_observer register_observer"),
    **_same("write `not session.is_shutdown`", "is_open is_connected"),
    **_same("write session.cluster.metadata.keyspaces", "metadata schema tables keyspaces"),
    **_same(
        "write cassandra.bulk.copy.copy(session, table, session, 'other.table'), "
        "or session.load(table, source) for rows of your own",
        "copy",
    ),
    **_same("write session.load(table, source)", "bulk_load import_csv load_csv"),
    **_same(
        "this session has no objects: write session.execute(query, parameters), or use the models "
        "of cassandra.cqlengine",
        "add merge delete refresh expunge expire",
    ),
    **_same("write session.execute('INSERT INTO t (k, v) VALUES (%s, %s)', (k, v))", "set put"),
    **_same(
        "write session.execute('SELECT key FROM system.local'); session.cluster.report() shows the "
        "hosts without a request",
        "ping is_alive is_valid",
    ),
    **_same(
        "write session.cluster.metadata.keyspaces['keyspace'].tables",
        "get_table list_tables get_tables describe columns",
    ),
    **_same(
        "write session.execute('CREATE TABLE ...', timeout=60)",
        "create_table create_keyspace create_index drop_table drop_keyspace",
    ),
    **_same(
        "execute one statement at a time: `for text in statements: session.execute(text)`",
        "execute_script executescript execute_all source",
    ),
    **_same(
        "a session needs no pool, because all threads and tasks share it: write "
        "session.execute(query)",
        "acquire release connection get_connection pool",
    ),
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
    **_same(
        "write session.prepare(text), or await session.prepare(text) with a session of "
        "cassandra.aio",
        "prepare_async aprepare",
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
    **_same("write load_balancing_policy of a profile", "load_balancing_policy"),
    **_same("write session.set_keyspace(name)", "keyspace"),
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
    **_same(
        "write await session.shutdown(), or use `async with`",
        "close aclose disconnect quit stop dispose",
    ),
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
    **_same("write cluster.is_shutdown", "closed is_closed"),
    # `prometheus_client` looks up these attributes of each object that an application registers as
    # a collector.
    **_same(
        "for Prometheus, write REGISTRY.register(ClusterCollector(cluster)), with ClusterCollector "
        "of cassandra.observability.prometheus",
        "collect describe",
    ),
    **_same(
        "write cluster.add_request_observer(observer)",
        "add_observer add_listener register_observer add_request_listener",
    ),
    **_same(
        "write any(host.is_up for host in cluster.metadata.all_hosts()); `not cluster.is_shutdown` "
        "says only that you may still use the cluster",
        "is_connected connected is_open",
    ),
    **_same(
        "write cluster.report(), which shows the hosts without a request, or "
        "session.execute('SELECT key FROM system.local')",
        "ping health status info topology is_alive",
    ),
    **_same(
        "a session needs no pool, because all threads and tasks share it: write "
        "session = cluster.connect(keyspace)",
        "pool create_pool get_connection",
    ),
    **_same(
        "write cluster.metrics.get_stats(), for a Cluster(..., metrics_enabled=True)",
        "get_metrics stats get_stats",
    ),
    **_same("write cluster.refresh_schema_metadata()", "refresh_schema reload_schema refresh"),
    **_same(
        "write await cluster.connect(keyspace) with a cassandra.aio.Cluster",
        "connect_async aconnect",
    ),
}

CLUSTER_SETTINGS: dict[str, str] = {
    **_same(
        "write ExecutionProfile(consistency_level=...), consistency_level of a statement, or "
        "session.default_consistency_level",
        "consistency_level consistency default_consistency_level",
    ),
    **_same(
        "write ExecutionProfile(serial_consistency_level=...), or serial_consistency_level of a "
        "statement",
        "serial_consistency_level default_serial_consistency_level",
    ),
    **_same(
        "write ExecutionProfile(request_timeout=...), session.default_timeout, or "
        "execute(..., timeout=); connect_timeout limits the time to connect",
        "timeout request_timeout default_timeout",
    ),
    **_same(
        "write session.default_fetch_size, or fetch_size of a statement",
        "fetch_size page_size default_fetch_size",
    ),
    **_same(
        "write ExecutionProfile(retry_policy=...), or retry_policy of a statement", "retry_policy"
    ),
    **_same(
        "write ExecutionProfile(speculative_execution_policy=...)", "speculative_execution_policy"
    ),
    **_same(
        "write ExecutionProfile(row_factory=...), or session.row_factory",
        "row_factory default_row_factory",
    ),
}

RESULT: dict[str, str] = {
    **_same(
        "write result.all()",
        "fetchall fetch_all to_list tolist list items records to_records to_pylist getall get_all "
        "get_all_rows fetch_all_rows read collect",
    ),
    **_same(
        "iterate over the result, which fetches page after page; result.current_rows has the rows "
        "of one page, and result.fetch_next_page() fetches the next one",
        "pages iter_pages paginate partitions stream scroll batches",
    ),
    **_same(
        "write `for row in result`, with row.column",
        "iterrows itertuples iter_rows iter map foreach",
    ),
    **_same(
        "servers filter and sort: write WHERE, ORDER BY and LIMIT in the statement's text, or use "
        "result.to_pandas()",
        "filter where sort sort_values order_by limit offset groupby group_by apply iloc loc "
        "drop_duplicates unique join merge",
    ),
    **_same(
        "write result.to_pandas().to_csv(path) or .to_parquet(path), or session.unload(table, "
        "folder) for a whole table",
        "to_csv to_parquet write_csv write_parquet save export",
    ),
    **_same(
        "write result.column_types",
        "dtypes schema types",
    ),
    **_same("write result.all()[n], or result.to_pandas()", "index values"),
    **_same("write result.one()", "fetchone fetch_one first next_row single head first_or_none"),
    **_same(
        "write result.current_rows for the rows of a page; fetch_size sets how many those are",
        "fetchmany rows page data",
    ),
    **_same("write result.one()[0]", "scalar_one"),
    **_same(
        "write row = result.one(), then row[0] if row else None",
        "scalar scalar_one_or_none fetchval value",
    ),
    **_same("write [row[0] for row in result]", "scalars flatten"),
    **_same(
        "servers do not count rows: write len(result.all()), or SELECT count(*)",
        "rowcount row_count count num_rows size total length shape",
    ),
    **_same("write result.column_names", "description columns keys fields header"),
    **_same(
        "write result.to_pandas()",
        "to_df df dataframe to_dataframe to_frame pandas fetch_df fetchdf fetch_pandas "
        "fetch_dataframe fetch_pandas_all",
    ),
    **_same(
        "write result.to_arrow()",
        "arrow to_table fetch_arrow_table to_arrow_table fetch_arrow fetch_arrow_all",
    ),
    **_same("write result.to_numpy()", "numpy fetchnumpy fetch_numpy to_array"),
    **_same("write result.to_polars()", "pl polars"),
    **_same(
        "for rows as dicts, set session.row_factory = cassandra.query.dict_factory first",
        "mappings to_dicts dicts to_dict dictresult asdict as_dict rows_as_dicts",
    ),
    **_same("write result.fetch_next_page()", "next_page fetch_next get_next_page"),
    **_same(
        "write result.has_more_pages; fetch_next_page() fetches the next page, and iterating over "
        "the result fetches all",
        "has_more has_next has_next_page more_pages is_last_page",
    ),
    **_same(
        "write json.dumps([row._asdict() for row in result], default=str)", "json to_json as_json"
    ),
    **_same("write result.paging_state", "page_state paging_token next_page_token cursor"),
    **_same("write result.was_applied", "applied is_applied"),
    **_same("write result.response_future.warnings", "warnings"),
    **_same("write result.response_future.custom_payload", "custom_payload"),
    **_same("write result.response_future.coordinator_host", "coordinator_host host"),
    **_same("this is the result already; execute_async returns a future", "result get"),
    **_same("a result needs no closing", "close"),
    **_same("Cassandra has no generated keys: make the id yourself, by uuid.uuid4()", "lastrowid"),
}

FUTURE: dict[str, str] = {
    **_same("this is a future; write future.result().one()", "one first fetchone"),
    **_same("this is a future; write future.result().all()", "all fetchall rows current_rows"),
    **_same("this is a future; write future.result().to_pandas()", "to_pandas to_df df"),
    **_same("this is a future; write future.result().to_arrow()", "to_arrow"),
    **_same("this is a future; write future.result().to_polars()", "to_polars"),
    **_same("this is a future; write future.result().to_numpy()", "to_numpy"),
    **_same(
        "this is a future; write future.result(), then result.column_names",
        "column_names column_types",
    ),
    **_same("write future.result()", "get wait join value"),
    **_same(
        "write future.add_callbacks(callback, errback)", "add_done_callback then on_done subscribe"
    ),
    **_same("requests cannot be cancelled; their timeout ends them", "cancel cancelled"),
    **_same("write future.result(), which raises it", "exception error_of"),
    **_same("write future.result().was_applied", "was_applied applied"),
    **_same("write future.result(), which waits, or future.add_callbacks", "done running"),
    # `concurrent.futures.wait` and `as_completed` read this attribute of the futures that are
    # passed to them.
    "_condition": "this is no future of concurrent.futures: write "
    "[future.result() for future in futures], or session.execute_concurrent",
}


def advise_on_pairs(cls: type) -> None:
    """Add advice to `ExecutionResult`, a pair (success, result) that users mistake for a result.

    :param cls: one of the classes `ExecutionResult`.
    """

    def refuse(pair: object, name: str) -> NoReturn:
        raise AttributeError(
            f"{type(pair).__name__!r} object has no attribute {name!r}: this is a pair of success "
            "and result: write `for success, result in ...`; if success is True, "
            "result.one() and result.all() have the rows"
        )

    # Set by setattr, so that type checkers still report unknown names.
    setattr(cls, "__getattr__", refuse)  # noqa: B010


# Advice for attributes that a cluster of cassandra.aio does not have.
ASYNC_CLUSTER: dict[str, str] = {
    **_same("write session = await cluster.connect(keyspace)", "connect_async aconnect"),
    **_same(
        "write await cluster.shutdown(), or use an `async with` block",
        "close disconnect stop quit aclose",
    ),
}

ASYNC_RESULT: dict[str, str] = {
    **_same(
        "this is the result already; for callbacks, write "
        "task = asyncio.ensure_future(session.execute(query)), then task.add_done_callback",
        "add_callback add_callbacks add_errback add_done_callback result",
    ),
    **_same(
        "write `async for row in result`, which fetches page after page; result.current_rows has "
        "the rows of one page, and await result.fetch_next_page() fetches the next one",
        "pages iter_pages paginate partitions stream scroll batches",
    ),
    **_same(
        "write `async for row in result`, with row.column",
        "iterrows itertuples iter_rows iter map foreach",
    ),
}

ROW: dict[str, str] = {
    **_same(
        "a row is a named tuple; write row.column, or row._asdict() for a dict "
        "(session.row_factory = dict_factory makes each row one)",
        "get keys values items to_dict asdict dict as_dict _mapping",
    ),
    **_same("the result has it; write result.was_applied, or row.applied", "was_applied"),
}

MODEL: dict[str, str] = {
    **_same("write Model.objects(column=value), or Model.objects.filter(...)", "query where find"),
    **_same("write Model.get(key=value)", "find_one get_by_id find_by_id"),
    **_same(
        "write Model.objects.create_many(rows), or `with BatchQuery() as batch: "
        "Model.batch(batch).create(...)` for rows that belong together",
        "bulk_create create_many insert_many bulk_insert",
    ),
    **_same(
        "a row without the key's other columns is replaced: write Model.create(...)",
        "get_or_create update_or_create upsert",
    ),
    **_same("write dict(instance)", "dict to_dict asdict model_dump as_dict _as_dict"),
    **_same(
        "write json.dumps(dict(instance), default=str)", "json to_json model_dump_json as_json"
    ),
    **_same("write instance = Model.get(key=value)", "refresh_from_db refresh reload"),
    **_same(
        "write cassandra.cqlengine.management.sync_table(Model)",
        "sync_table sync create_table create_tables migrate",
    ),
    **_same("write cassandra.cqlengine.management.drop_table(Model)", "drop_table drop"),
    **_same("write Model.create(column=value)", "insert add"),
    **_same("write Model.objects(key=value).first()", "get_or_none one_or_none"),
    **_same("write Model.objects(key=value).first() is not None", "exists"),
    **_same(
        "write cassandra.cqlengine.connection.execute('TRUNCATE ...'), with "
        "Model.column_family_name()",
        "truncate delete_all drop_all",
    ),
    **_same("write Model.objects.count()", "count"),
    **_same("write Model.objects.first()", "first"),
}

QUERYSET: dict[str, str] = {
    **_same("CQL has no such condition: leave rows out in your program", "exclude"),
    **_same("write values_list('column', ...)", "values pluck"),
    **_same(
        "write create_many(rows), or `with BatchQuery() as batch: "
        "Model.batch(batch).create(...)` for rows that belong together",
        "bulk_create insert_many bulk_insert",
    ),
    **_same("write `with BatchQuery() as batch: instance.batch(batch).save()`", "bulk_update"),
    **_same(
        "write Model.create(...), which replaces the row if it is there, or "
        "Model.if_not_exists().create(...)",
        "get_or_create update_or_create upsert",
    ),
    **_same("write filter(column=value)", "filter_by where find"),
    **_same("write first()", "one one_or_none scalar"),
    **_same(
        "write filter(...).order_by('-column').first(), with a clustering column, in a partition "
        "that the filter names",
        "last latest",
    ),
    **_same(
        "write filter(...).order_by('column').first(), with a clustering column, in a partition "
        "that the filter names",
        "earliest",
    ),
    **_same("write first() is not None", "exists"),
    **_same("write first(), which returns None if there is no row", "get_or_none find_one"),
    **_same(
        "iterate over the queryset, which fetches page after page", "iterator stream chunks batches"
    ),
    **_same(
        "CQL has no pages by number: go on after the last row, as the guide of the mapper shows",
        "page paginate paginator",
    ),
    **_same("write [dict(instance) for instance in queryset]", "dicts to_dicts as_dicts to_dict"),
    **_same("write only(['column'])", "select project columns"),
    **_same("write to_pandas()", "to_df df dataframe to_dataframe"),
    **_same("write cassandra.cqlengine.connection.execute(text, values)", "raw execute sql"),
    **_same("write count() > 0, or first()", "any"),
    **_same(
        "CQL computes no such values for a queryset: read the rows, or write CQL",
        "aggregate annotate select_related prefetch_related join group_by having union sum avg "
        "min max",
    ),
    **_same(
        "a queryset is not an instance; write instance = Model.get(key=value), then "
        "instance.save(), or queryset.update(column=value)",
        "save asave",
    ),
    **_same("CQL has no OFFSET: go on after the last key by a filter", "offset skip"),
    **_same("this is a queryset already: write filter(column=value)", "objects"),
    **_same("write list(queryset)", "to_list tolist fetchall"),
}

FILTER_COLUMN: dict[str, str] = {
    **_same("write order_by('-column'), with a clustering column", "desc descending"),
    **_same("write order_by('column'), with a clustering column", "asc ascending"),
    **_same("write Model.column.in_([1, 2])", "isin any_ one_of"),
    **_same("write Model.column >= first, Model.column <= last", "between"),
    **_same(
        "write Model.column.like('text%'), with an index of the column that supports LIKE",
        "startswith endswith ilike match regexp_match icontains",
    ),
    **_same("write Model.column.contains_(value), for a collection", "contains has any"),
    **_same(
        "CQL finds no rows by null: leave rows out in your program", "is_ is_not is_null isnull"
    ),
    **_same("CQL has no such condition: leave rows out in your program", "not_in notin_ not_in_"),
    **_same(
        "a class has columns, and an instance their values: write Model.get(key=value).column",
        "value val",
    ),
}

COLUMN_TYPES: dict[str, str] = {
    **_same("write columns.Text", "String Str CharField Char Varchar VarChar VARCHAR TextField"),
    **_same("write columns.Integer", "Int IntegerField Int32"),
    **_same("write columns.BigInt", "BigInteger Long LongInteger BigIntegerField Int64"),
    **_same("write columns.SmallInt", "SmallInteger"),
    **_same("write columns.Boolean", "Bool BooleanField"),
    **_same("write columns.Double, or columns.Decimal for exact numbers", "Numeric Number Real"),
    **_same("write columns.DateTime", "Timestamp DateTimeField Datetime TIMESTAMP"),
    **_same("write columns.UUID", "Uuid UUIDField"),
    **_same("write columns.Blob", "Binary LargeBinary BinaryField"),
    **_same("write columns.Text, and json.dumps(value)", "JSON Json JSONField JSONB"),
    **_same("write columns.List(columns.Text), with the column of the elements", "Array ARRAY"),
    **_same("write columns.Map(columns.Text, columns.Text)", "Dict Object Dictionary"),
    **_same(
        "CQL has no relations: keep the other row's key in a column, such as columns.UUID()",
        "ForeignKey ForeignKeyField OneToOneField ManyToManyField relationship Reference "
        "ReferenceField",
    ),
    **_same(
        "CQL has no generated keys: write columns.UUID(primary_key=True, default=uuid.uuid4)",
        "AutoField BigAutoField Serial Identity",
    ),
    **_same("write columns.Text, and store the member's value", "Enum EnumField Choice"),
    **_same("write columns.Text", "EmailField URLField SlugField Email Url Unicode"),
    **_same(
        "write columns.UserDefinedType(Address), with a subclass of UserType",
        "UDT UDTField Embedded EmbeddedDocument Nested",
    ),
}

USER_TYPE: dict[str, str] = {
    **_same(
        "a UserType is a value of a column: assign it, instance.column = Address(...), and save "
        "the instance",
        "create save asave acreate objects get filter update delete all",
    ),
    **_same("write dict(instance)", "to_dict asdict model_dump as_dict"),
}

MANAGEMENT: dict[str, str] = {
    **_same(
        "write sync_table(Model) for each model",
        "sync_tables sync_all create_all create_tables create_table migrate sync syncdb",
    ),
    **_same("write drop_table(Model) for each model", "drop_all drop_tables"),
    **_same("write sync_type(keyspace, Type)", "sync_types create_type sync_udt"),
    **_same(
        "write create_keyspace_simple(name, replication_factor) for a single data centre, or "
        "create_keyspace_network_topology(name, {'dc1': 3})",
        "create_keyspace create_database sync_keyspace",
    ),
    **_same("write drop_keyspace(name)", "delete_keyspace drop_database"),
}

PREPARED: dict[str, str] = {
    **_same(
        "write session.execute(prepared, values); "
        "functions of cassandra.concurrent take the session first",
        "execute execute_async run fetch fetchall",
    ),
    **_same("write prepared.bind(values)", "bind_list bind_dict bind_all set_values set"),
    **_same("write prepared.query_string", "query text cql statement"),
    **_same(
        "write prepared.column_metadata, which has the name and type of each bind marker",
        "params parameters columns markers bind_variables variables arguments",
    ),
    **_same(
        "write session.execute_concurrent((prepared, row) for row in rows), or "
        "session.load(table, rows)",
        "executemany execute_many bind_many",
    ),
    **_same(
        "write prepared.consistency_level = ConsistencyLevel.QUORUM",
        "set_consistency_level set_consistency with_consistency",
    ),
    **_same("write prepared.fetch_size = 100", "set_fetch_size with_page_size set_page_size"),
    **_same("write prepared.is_idempotent = True", "set_idempotent set_is_idempotent"),
}

STATEMENT: dict[str, str] = {
    **_same(
        "write session.execute(statement, parameters), or "
        "session.prepare(statement.query_string).bind(values)",
        "bind bind_params bindparams params parameters values",
    ),
    **_same("write session.execute(statement, parameters)", "execute run all one fetch fetchall"),
    **_same("write statement.query_string", "query text cql statement"),
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
    **_same("did you mean retry_policy?", "retry retrypolicy retryPolicy retries"),
    **_same("write session.execute(statement, timeout=seconds)", "timeout request_timeout"),
    **_same("write USING TTL ? or USING TIMESTAMP ? in the statement's text", "ttl timestamp"),
    **_same("write session.execute(statement, paging_state=...)", "paging_state"),
    **_same("write session.row_factory, or row_type= of execute", "row_factory row_type"),
}

SCAN: dict[str, str] = {
    **_same(
        "iterate over the scan, or write scan.to_pandas()",
        "all rows fetchall one first next fetchone fetchmany fetch_all iterrows itertuples "
        "iter_rows map foreach apply result",
    ),
    **_same(
        "write scan.to_pandas()",
        "to_df df dataframe to_dataframe read fetch_df fetchdf pandas toPandas",
    ),
    **_same(
        "a scan has no order: sort what scan.to_pandas() returns",
        "sort order_by sort_values sort_by",
    ),
    **_same("a scan needs no closing: leave its iteration, and it ends", "close cancel stop"),
    **_same("write scan.to_arrow().schema", "schema dtypes types column_names"),
    **_same("write duckdb.from_arrow(scan.to_arrow())", "to_duckdb duckdb to_relation"),
    **_same(
        "write datasets.Dataset(scan.to_arrow()) for Hugging Face, or pyarrow.dataset.dataset("
        "scan.to_arrow())",
        "to_dataset dataset to_hf",
    ),
    **_same(
        "write torch.tensor(scan.to_numpy()['column']), or read scan_tasks in an IterableDataset, "
        "as the cookbook shows",
        "to_torch to_tensor torch tensor to_jax to_tf",
    ),
    **_same("write cassandra.dask.read_table('keyspace.table', settings)", "to_dask dask"),
    **_same(
        "write cassandra.bulk.scan_tasks(session, table), for several processes",
        "partitions num_partitions tasks split splits",
    ),
    **_same(
        "write scan.to_pandas().to_dict('records'), or set session.row_factory = dict_factory",
        "to_dict to_dicts dicts to_pylist",
    ),
    **_same(
        "iterate over scan.arrow_batches()",
        "batches to_batches chunks pages_arrow iter_batches iter_arrow to_arrow_batches",
    ),
    **_same("write session.count(table, where)", "count size num_rows height shape rowcount"),
    **_same(
        "write scan.pages(), results of one page each", "current_rows has_more_pages next_page"
    ),
    **_same("write list(scan), or scan.to_arrow()", "collect compute fetch to_list tolist execute"),
    **_same(
        "write session.scan(table, where='column > ?', parameters=[5]), which servers compute",
        "filter query loc where",
    ),
    **_same("write session.scan(table, ['column', ...])", "select project with_columns"),
    **_same("write session.scan(table, limit=n)", "head take sample show limit"),
    **_same(
        "write session.unload(table, folder), with format='parquet', 'csv' or 'jsonl'",
        "to_parquet to_csv to_json write write_parquet write_csv sink_parquet sink_csv",
    ),
    **_same("write scan.to_arrow()", "arrow to_table fetch_arrow_table to_arrow_table"),
    **_same("write scan.to_polars()", "pl polars"),
}
# The advice for ``scan[...]`` and for ``len(scan)``.
SCAN_ITEM = (
    "write session.scan(table, ['column'], limit=10), and iterate over it, or write "
    "scan.to_pandas()"
)
SCAN_LENGTH = "write session.count(table, where), or len() of what scan.to_arrow() returns"

METADATA: dict[str, str] = {
    **_same("write metadata.keyspaces['keyspace'].tables", "tables get_tables table"),
    **_same("write metadata.all_hosts()", "hosts nodes peers"),
}

TABLE: dict[str, str] = {
    **_same("write table.primary_key, a list of columns", "primary_keys pk keys key_columns"),
    **_same(
        "write table.export_as_string(), or table.as_cql_query() for the table alone",
        "cql ddl create_statement to_cql as_string definition",
    ),
    **_same("write table.keyspace_name", "keyspace ks"),
    **_same("write list(table.columns)", "column_names names"),
}

COLUMN: dict[str, str] = {
    **_same("write column.cql_type", "type data_type type_name dtype datatype"),
    **_same("write column.name", "column_name"),
}

KEYSPACE: dict[str, str] = {
    **_same(
        "write keyspace.replication_strategy", "replication replication_factor strategy options"
    ),
    **_same("write keyspace.user_types", "types udts"),
    **_same("write keyspace.export_as_string(), or keyspace.as_cql_query()", "cql ddl to_cql"),
    **_same("write list(keyspace.tables)", "table_names get_tables"),
}

MAPPER_BATCH: dict[str, str] = {
    **_same(
        "write Model.batch(batch).create(...), or instance.batch(batch).save()",
        "add append insert create save add_all bulk_create",
    ),
    **_same("write batch.execute()", "commit flush run"),
}

LOAD_REPORT: dict[str, str] = {
    **_same(
        "write report.written",
        "rows count total num_rows rows_written inserted loaded rowcount row_count records",
    ),
    **_same("write report.as_dict()", "to_dict asdict dict json to_json"),
    **_same(
        "write report.failed == 0 and report.not_applied == 0; a load that ends early raises "
        "LoadError",
        "success ok status succeeded is_ok error",
    ),
    **_same("write report.failures", "errors exceptions failed_rows"),
    **_same("write report.seconds", "duration elapsed time"),
}

UNLOAD_REPORT: dict[str, str] = {
    **_same("write report.rows", "count total num_rows written rowcount row_count records"),
    **_same("write report.files, a list of paths", "path folder file filename paths output"),
    **_same("write report.bytes", "size length"),
    **_same("write report.seconds", "duration elapsed time"),
    **_same("write report.as_dict()", "to_dict asdict dict json to_json"),
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

CLUSTER_REPORT: dict[str, str] = {
    **_same("write json.dumps(report.as_dict())", "to_json json as_json"),
    **_same("write report.as_dict()", "to_dict asdict dict"),
    **_same("write report.hosts", "nodes"),
}
