"""Errors with advice for options that a call does not have.

For example, users of other libraries pass settings of statements or profiles to `execute`, or
parameters as keyword arguments. The calls of the driver accept ``**_unknown`` only to raise this
error.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from cassandra._misspelt import nearest

_Function = TypeVar("_Function", bound=Callable[..., Any])

# The options of `Session.execute`, and the settings of statements.
_EXECUTE = (
    "parameters", "timeout", "trace", "custom_payload", "execution_profile", "paging_state", "host",
    "row_type", "shard", "token",
)  # fmt: skip
_OF_STATEMENTS = (
    "consistency_level",
    "fetch_size",
    "is_idempotent",
    "keyspace",
    "retry_policy",
    "routing_key",
    "serial_consistency_level",
)
# The settings of statements that an execution profile has, too.
_OF_PROFILES = frozenset(("consistency_level", "retry_policy", "serial_consistency_level"))

# For each option name of other libraries, or of other calls of this driver: the option of this
# driver that means the same.
_SAME: dict[str, str] = {
    **dict.fromkeys(
        ("params", "parameter", "args", "arguments", "values", "bind", "binds", "vars", "data"),
        "parameters",
    ),
    **dict.fromkeys(("profile", "profile_name", "exec_profile"), "execution_profile"),
    **dict.fromkeys(("request_timeout", "query_timeout", "timeout_ms", "deadline"), "timeout"),
    **dict.fromkeys(("tracing", "with_trace"), "trace"),
    **dict.fromkeys(("payload",), "custom_payload"),
    **dict.fromkeys(("page_state", "cursor", "page_token"), "paging_state"),
    **dict.fromkeys(("row_class", "model", "model_cls", "into"), "row_type"),
    **dict.fromkeys(("page_size", "pagesize", "batch_size", "arraysize"), "fetch_size"),
    **dict.fromkeys(("consistency", "cl"), "consistency_level"),
    **dict.fromkeys(("idempotent", "idempotence"), "is_idempotent"),
    **dict.fromkeys(("serial_consistency",), "serial_consistency_level"),
    **dict.fromkeys(("retry", "retries", "max_retries"), "retry_policy"),
}
# For option names that have no such equivalent: what to write instead.
_ELSEWHERE: dict[str, str] = {
    **dict.fromkeys(
        ("row_factory", "as_dict", "dict"),
        "write row_type=SomeClass, session.row_factory = dict_factory, or "
        "ExecutionProfile(row_factory=dict_factory)",
    ),
    **dict.fromkeys(
        ("ttl", "timestamp"), "write USING TTL ? or USING TIMESTAMP ? in the statement's text"
    ),
    **dict.fromkeys(
        ("limit", "max_rows"), "write LIMIT in the statement's text; fetch_size is rows per page"
    ),
    "prepare": "write prepared = session.prepare(text), then session.execute(prepared, values)",
    **dict.fromkeys(
        ("wait", "block", "sync", "callback", "on_success"),
        "execute waits for its result; execute_async returns a future with add_callbacks",
    ),
}


def unknown_option(call: str, names: Iterable[str]) -> TypeError:
    """Return the error for options that a call does not have.

    :param call: the name of the call, for example ``Session.execute``.
    :param names: the unknown options. The message is about the first one.
    """
    name = next(iter(names))
    return TypeError(f"{call}() has no option {name!r}{_advice(call.rpartition('.')[2], name)}")


def advise_options(cls: type) -> None:
    """Make the constructor of a class raise `unknown_option` for unknown keyword arguments.

    Without this, Python complains of the missing arguments first, for example "missing 1 required
    positional argument: 'username'" for ``user=``.

    :param cls: the class. Subclasses may have other parameters, as long as they pass only known
        parameters to the constructor of `cls`.
    """
    init: Callable[..., None] = cls.__init__  # type: ignore[misc]
    code = init.__code__
    names = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    # The number of arguments that must be passed, including `self`.
    required_count = code.co_argcount - len(init.__defaults__ or ())

    @functools.wraps(init)
    def construct(self: Any, *args: Any, **options: Any) -> None:
        """Call the constructor if all options are known; otherwise raise an error."""
        try:
            unknown = [name for name in options if name not in names]
            if unknown:
                raise unknown_option(cls.__name__, unknown)
            # The constructor needs several arguments, but got only one, a mapping, which probably
            # contains all of them.
            if required_count > 2 and len(args) == 1 and isinstance(args[0], Mapping):
                raise TypeError(
                    f"{cls.__name__}() takes no mapping: write {cls.__name__}(**settings), with "
                    "two asterisks before the mapping"
                )
            init(self, *args, **options)
        finally:
            # The arguments may have passwords, and some tracebacks show local variables.
            del args, options

    # Use setattr, so that type checkers still know the constructor's own parameters.
    setattr(cls, "__init__", construct)  # noqa: B010


def advise_missing(cls: type, example: str) -> None:
    """Make the constructor of a class raise TypeError with an example if arguments are missing.

    :param cls: the class.
    :param example: what to write.
    """
    init: Callable[..., None] = cls.__init__  # type: ignore[misc]
    # Use setattr, so that type checkers still know the constructor's own parameters.
    setattr(cls, "__init__", with_example(example)(init))  # noqa: B010


def with_example(example: str) -> Callable[[_Function], _Function]:
    """Return a decorator: the function then raises TypeError with `example` for missing arguments.

    :param example: what to write.
    """

    def decorate(function: _Function) -> _Function:
        """Return a function that checks for missing arguments before it calls `function`."""
        # The function may have been decorated already.
        original = getattr(function, "__wrapped__", function)
        code = original.__code__
        # Leave out parameters with defaults.
        required = code.co_varnames[: code.co_argcount - len(original.__defaults__ or ())]

        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            """Call the function, or raise an error that names the missing arguments."""
            try:
                missing = [name for name in required[len(args) :] if name not in options]
                if missing and missing != ["self"]:
                    is_constructor = function.__name__ == "__init__"
                    name = type(args[0]).__name__ if is_constructor else function.__name__
                    raise TypeError(f"{name}() needs {' and '.join(missing)}: write {example}")
                return function(*args, **options)
            finally:
                # The arguments may have passwords, and some tracebacks show local variables.
                del args, options

        decorated: Any = call
        return decorated  # type: ignore[no-any-return]

    return decorate


def _advice(call: str, name: str) -> str:
    """Return the end of the error message: what to write instead of the option `name`."""
    # Other drivers and libraries may have another name for the option.
    option = _SAME.get(name, name)
    if call in _OF_CALLS:
        return _advice_of(_OF_CALLS[call], option)
    # The option may be known elsewhere: as a setting of statements, or under another name.
    if option in _OF_STATEMENTS:
        return f": it is a setting of the statement: {_how_to_set(option)}"
    if option in _EXECUTE:
        return f"; write {option}="
    if name in _ELSEWHERE:
        return f": {_ELSEWHERE[name]}"
    # The name may be misspelt.
    similar_name = nearest(name, (*_EXECUTE, *_OF_STATEMENTS), alike=0.75)
    if similar_name is not None:
        suffix = f": {_how_to_set(similar_name)}" if similar_name in _OF_STATEMENTS else "?"
        return f"; did you mean {similar_name}{suffix}"
    return (
        f"; it has {', '.join(_EXECUTE)}. Values of markers are passed together: "
        f"{call}(query, {{{name!r}: ...}})"
    )


def _advice_of(advice: _Advice, option: str) -> str:
    """Return the end of the error message for an option of a call in `_OF_CALLS`."""
    if option in advice.by_option:
        return advice.by_option[option]
    # A statement has too many settings to list all of them, so suggest a similar setting.
    if not advice.otherwise:
        similar_name = nearest(option, _OF_STATEMENTS)
        return "" if similar_name is None else f"; did you mean {similar_name}?"
    return advice.otherwise


def _how_to_set(setting: str) -> str:
    if setting == "keyspace":
        return "write SimpleStatement(text, keyspace=...), or session.prepare(text, keyspace=...)"
    profile = f", or ExecutionProfile({setting}=...) for many" if setting in _OF_PROFILES else ""
    return f"write SimpleStatement(text, {setting}=...), or prepared.{setting} = ...{profile}"


class _Advice(NamedTuple):
    """What to write in place of the options that a call does not have.

    - `by_option`: the end of the message for options of other libraries and calls.
    - `otherwise`: the end of the message for any other option.
    """

    by_option: Mapping[str, str]
    otherwise: str


def _each(options: str, advice: str) -> dict[str, str]:
    """Return a dict with the same advice for each option.

    :param options: the names, with blanks between.
    """
    return dict.fromkeys(options.split(), advice)


_BATCH_TYPES = "logged unlogged type counter"  # options that users try for `batch_type`
# The advice for `SimpleStatement` and `BatchStatement`, whose users pass options of `execute`.
_OF_STATEMENT = {
    **{option: f": {advice}" for option, advice in _ELSEWHERE.items()},
    **{option: f": write session.execute(statement, {option}=...)" for option in _EXECUTE},
}
# The advice for `execute_concurrent` and `execute_concurrent_with_args`.
_OF_CONCURRENT = _Advice(
    {
        **_each(
            "workers max_workers parallelism threads max_concurrency limit", "; write concurrency="
        ),
        **{
            option: f": it is a setting of the statement: {_how_to_set(option)}"
            for option in _OF_STATEMENTS
        },
        "timeout": ": write execution_profile=ExecutionProfile(request_timeout=seconds)",
    },
    "; it has concurrency, raise_on_first_error, results_generator, execution_profile and row_type",
)

# The advice of calls other than `execute`.
_OF_CALLS = {
    "BatchQuery": _Advice(
        {
            **_each(
                _BATCH_TYPES,
                ": write BatchQuery(batch_type=BatchType.Unlogged), or BatchType.Counter",
            ),
            "consistency_level": "; write consistency=",
            "keyspace": ": the models have the keyspace; write Model.objects.using(keyspace=...)",
            "ttl": ": write Model.ttl(seconds).batch(batch).create(...)",
        },
        "; it has batch_type, timestamp, consistency, execute_on_exception, timeout, connection",
    ),
    "BatchStatement": _Advice(
        {
            **_OF_STATEMENT,
            **_each(
                _BATCH_TYPES, ": write BatchStatement(BatchType.UNLOGGED), or BatchType.COUNTER"
            ),
            "BatchType": "; write batch_type=",
        },
        "",
    ),
    "ClusterCollector": _Advice(
        {
            "registry": ": write registry.register(ClusterCollector(cluster))",
            **_each("labels label cluster_name", "; write name=, the label `cluster`"),
            **_each(
                "namespace prefix subsystem",
                ": the names of all metrics begin with cassandra_driver_",
            ),
        },
        "; it has name and buckets",
    ),
    "ConcurrencyLimitingThrottler": _Advice(
        _each(
            "max_concurrent concurrency limit max_requests n", "; write max_concurrent_requests="
        ),
        "; it has max_concurrent_requests and max_queue_size",
    ),
    "DCAwareRoundRobinPolicy": _Advice(
        _each("dc datacenter data_center local_datacenter localDc", "; write local_dc="),
        "; it has local_dc, used_hosts_per_remote_dc and preferred_remote_dcs",
    ),
    "LocalCluster": _Advice(
        {
            **_each(
                "auth user username password login",
                "; write authentication=True; local.username and local.password have the login",
            ),
            **_each(
                "ssl use_ssl ssl_context mtls",
                "; write tls=True, or tls='mutual'; local.tls has the certificates",
            ),
            **_each(
                "keyspace keyspaces replication replication_factor schema",
                ": create keyspaces by a session, Cluster(local.contact_points).connect()",
            ),
            **_each("n num_nodes node_count size count hosts", "; write nodes="),
            **_each("cassandra_version release tag image", "; write version='5.0'"),
            **_each("dcs dc datacenter data_centers", "; write LocalCluster({'dc1': 2, 'dc2': 1})"),
            **_each("memory max_heap heap_size mem_limit", "; write heap='1G'"),
            **_each("java_home jvm java_version", "; write java=, the path of the command"),
        },
        "; it has nodes, version, datacenters, racks, authentication, tls, config, heap and more",
    ),
    "PlainTextAuthProvider": _Advice(
        {
            **_each("user login name user_name", "; write username="),
            **_each("passwd pwd secret pass", "; write password="),
        },
        "; it has username and password",
    ),
    "RequestLogger": _Advice(
        {
            **_each(
                "threshold slow_threshold slow_query min_duration duration", "; write slow=seconds"
            ),
            **_each("sample_rate rate probability", "; write sample="),
            **_each("json as_json", "; write structured=True"),
            **_each("parameters log_values with_values", "; write values=True"),
            **_each(
                "level log_level",
                ": slow requests are a WARNING, and failed ones an ERROR; "
                "logging.getLogger('cassandra.requests').setLevel(level) leaves others out",
            ),
        },
        "; it has slow, failed, sample, values, structured, logger and repeat_interval",
    ),
    "SimpleStatement": _Advice(_OF_STATEMENT, ""),
    "bind": _Advice(
        {
            option: f": write bound = prepared.bind(values), then bound.{option} = ..."
            for option in _OF_STATEMENTS
        },
        ": values of markers are passed together: bind({'name': value})",
    ),
    "connect": _Advice(
        {
            "timeout": ": write Cluster(contact_points, connect_timeout=seconds), or "
            "execute(..., timeout=) for a request",
            **_each("database db dbname schema", "; write keyspace="),
        },
        "; it has keyspace. Addresses, port, login and TLS are settings of Cluster(...)",
    ),
    "execute_concurrent": _OF_CONCURRENT,
    "execute_concurrent_with_args": _OF_CONCURRENT,
    "prepare": _Advice(
        {
            **{
                option: f": write session.execute(prepared, values, {option}=...)"
                for option in _EXECUTE
            },
            **{
                option: f": set it at the prepared statement: prepared.{option} = ..."
                for option in _OF_STATEMENTS
            },
            "timeout": ": request_timeout of the default profile counts, and "
            "execute(prepared, values, timeout=...)",
        },
        "; it has custom_payload and keyspace",
    ),
}
