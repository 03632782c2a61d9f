"""A statement consists of a query string and the settings of its executions."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from cassandra._habits import (
    STATEMENT,
    add_habits,
    class_advice,
    is_table,
    refuse_table,
    stack_level,
)
from cassandra._imports import at_first_cluster
from cassandra._misspelt import class_attribute
from cassandra._mocks import is_mock
from cassandra._unknown_options import unknown_option
from cassandra._write_times import warn_of_literal
from cassandra.consistency import ConsistencyLevel, checked_serial
from cassandra.errors import MissingParameter
from cassandra.query.conditional import is_conditional
from cassandra.query.markers import placeholder_names, separate_minus_signs
from cassandra.query.settings import FETCH_SIZE_UNSET, StatementSettings

if TYPE_CHECKING:
    from cassandra import bases
    from cassandra.cqltypes.coerce import text_bytes
    from cassandra.encoder import Encoder
    from cassandra.engine.endpoint import EndPoint
    from cassandra.metadata.host import Host
    from cassandra.policies.retry import RetryPolicy
    from cassandra.protocol import bind
    from cassandra.util.secret_texts import without_secrets
else:
    from cassandra._impl import bases

    at_first_cluster(
        __name__,
        Encoder="cassandra.encoder",
        bind="cassandra._impl",
        # An error must not be the first to import this: without free file descriptors, importing
        # fails, and that failure would take the place of the error.
        without_secrets="cassandra.util.secret_texts",
        text_bytes="cassandra.cqltypes.coerce",
    )

__all__ = [
    "FETCH_SIZE_UNSET", "HostTargetingStatement", "RoutingKey", "SimpleStatement", "Statement",
    "are_empty", "bind_params",
]  # fmt: skip

RoutingKey = str | bytes | Sequence[str | bytes] | None
"""The serialized partition key: the bytes of its only column, or a sequence of the bytes of each
column.
"""


def _advice_on_values(argument: object) -> str:
    """Return advice for an error message if `argument` seems to be parameters, otherwise ""."""
    if isinstance(argument, (tuple, list, dict)):
        return ": parameters are of execute, not of the statement: execute(statement, parameters)"
    return ""


def _check_retry_policy(policy: object) -> None:
    """Raise ValueError if `policy` is not a retry policy, or is a class instead of an instance."""
    # Check for a method and not for a class, because a policy need not derive from `RetryPolicy`.
    if not hasattr(policy, "on_read_timeout"):
        raise ValueError(
            f"retry_policy must implement RetryPolicy, but is {policy!r}{_advice_on_values(policy)}"
        )
    # Accept a class whose methods are static methods or class methods, because it needs no
    # instance.
    if isinstance(policy, type) and not isinstance(
        class_attribute(policy, "on_read_timeout"), (staticmethod, classmethod)
    ):
        raise ValueError(class_advice("retry_policy", policy))


def _check_fetch_size(size: object) -> None:
    """Warn if `size` is not positive, and raise TypeError if it is a str or a float."""
    if size is FETCH_SIZE_UNSET:
        return
    # Only warn of such a number, because servers accept it, and send all rows as one page.
    if type(size) is int and size <= 0:
        warnings.warn(
            f"fetch_size={size} means one page of all rows to servers: write None if you want that",
            RuntimeWarning,
            stacklevel=stack_level(),
        )
    elif isinstance(size, (str, float)):
        raise TypeError(
            f"fetch_size must be a number of rows or None, but is {size!r} "
            f"of type {type(size).__name__}"
        )


class Statement(StatementSettings, bases.StatementBase):
    """Base class of all statements.

    `StatementSettings` has the settings with which a statement overrides the execution profile and
    the session; `serial_consistency_level` is another such setting. `keyspace` applies to
    unqualified names, and is used for routing.

    :param retry_policy: decides on retries of this statement; None for the profile's policy.
    :param consistency_level: a value of `ConsistencyLevel`; None for the profile's level.
    :param routing_key: the partition key's bytes, or the bytes of each of its columns; None if it
        is not known.
    :param serial_consistency_level: SERIAL or LOCAL_SERIAL; None for the profile's level.
    :param fetch_size: rows per page; None for one page of all rows. The default is the session's
        setting.
    :param keyspace: the name of the keyspace; None for the session's keyspace.
    :param custom_payload: a mapping of strings to bytes for the server's query handler.
    :param is_idempotent: True if the statement may be executed more than once. Then it is sent
        again after errors that do not show whether it was executed, and speculative execution
        sends it to further hosts.
    :param table: the name of the table, for routing to tablets.
    :raises ValueError: if `retry_policy` is not a retry policy, or `serial_consistency_level` is
        not serial.
    """

    # Applications set additional attributes on statements, and read them in policies and listeners.
    __slots__ = ("__dict__", "__weakref__")

    def __init__(
        self,
        retry_policy: RetryPolicy | None = None,
        consistency_level: int | None = None,
        routing_key: RoutingKey = None,
        serial_consistency_level: int | None = None,
        fetch_size: int | None = FETCH_SIZE_UNSET,
        keyspace: str | None = None,
        custom_payload: Mapping[str, bytes | None] | None = None,
        is_idempotent: bool = False,
        table: str | None = None,
    ) -> None:
        if retry_policy is not None:
            _check_retry_policy(retry_policy)
        _check_fetch_size(fetch_size)
        self.reset_settings()
        self.retry_policy = retry_policy
        self.consistency_level = consistency_level
        self._routing_key = routing_key
        self._serial_consistency_level: int | None = None
        # Set the level through the property, which refuses a level that is not serial.
        if serial_consistency_level is not None:
            self.serial_consistency_level = serial_consistency_level
        self.fetch_size = fetch_size
        self.keyspace = keyspace
        self.custom_payload = custom_payload
        self.is_idempotent = is_idempotent
        self.table = table

    @property
    def routing_key(self) -> bytes | None:
        """The serialized partition key, or None if it is not known.

        You may set it as bytes, or as a sequence of bytes, which are joined as the server joins
        them. A str is accepted instead of bytes, and encoded as UTF-8.

        :raises ValueError: if one of several components has more than 65,535 bytes, which no server
            accepts.
        :raises TypeError: if it was set to another type.
        """
        key = self._routing_key
        if key is None or isinstance(key, bytes):
            return key
        if isinstance(key, (str, bytearray, memoryview)):
            return _key_bytes(key)
        # Do not cache the result, because the application may still change the sequence.
        try:
            parts = [_key_bytes(part) for part in key]
        except TypeError as error:
            raise TypeError(
                f"routing_key is {key!r}; it has to be bytes, text, or a sequence of them"
            ) from error
        return bind.composite_key(parts)

    @routing_key.setter
    def routing_key(self, key: RoutingKey) -> None:
        self._routing_key = key

    @routing_key.deleter
    def routing_key(self) -> None:
        self._routing_key = None

    @property
    def serial_consistency_level(self) -> int | None:
        """The level of a lightweight transaction's first phase: SERIAL or LOCAL_SERIAL.

        None uses the profile's level.
        """
        return self._serial_consistency_level

    @serial_consistency_level.setter
    def serial_consistency_level(self, level: int | None) -> None:
        self._serial_consistency_level = checked_serial("serial_consistency_level", level)

    @serial_consistency_level.deleter
    def serial_consistency_level(self) -> None:
        self._serial_consistency_level = None

    def is_lwt(self) -> bool:
        """Return True if this is a lightweight transaction.

        ScyllaDB marks prepared statements; other statements are recognized by ``IF`` in their CQL.
        """
        return False

    def _set_defaults(self) -> None:
        """Set all attributes to their defaults."""
        Statement.__init__(self)

    def __setstate__(self, state: Any) -> None:
        # The state in a pickle of cassandra-driver is a dict of the attributes that differ from the
        # defaults. (We do not use `cassandra.util.pickles`, because importing statements must not
        # load that package.)
        if isinstance(state, dict):
            self._set_defaults()
            state = (state,)
        for attributes in state:
            for name, value in (attributes or {}).items():
                setattr(self, name, value)


def _key_bytes(part: str | bytes | bytearray | memoryview) -> bytes:
    """Return the bytes of one column of a partition key."""
    if isinstance(part, str):
        return part.encode()
    if isinstance(part, (bytes, bytearray, memoryview)):
        return bytes(part)
    raise TypeError(f"{part!r} is neither bytes nor text")


def _not_a_string(query: object) -> str:
    """Return the error message for a query that is not a string."""
    advice = ""
    if isinstance(query, StatementSettings):
        advice = "; a statement is executed as it is: write session.execute(statement)"
    return f"a query is a str, not {type(query).__name__}: {shown_argument(query)}{advice}"


class SimpleStatement(Statement):
    """A statement that is sent as a query string.

    The client writes the parameters into the query string, in place of ``%s`` or ``%(name)s``.

    :param query_string: the query string.
    :param retry_policy: decides on retries of this statement; None for the profile's policy.
    :param consistency_level: a value of `ConsistencyLevel`; None for the profile's level.
    :param routing_key: the partition key's bytes, or the bytes of each of its columns; None if it
        is not known.
    :param serial_consistency_level: SERIAL or LOCAL_SERIAL; None for the profile's level.
    :param fetch_size: rows per page; None for one page of all rows. The default is the session's
        setting.
    :param keyspace: the keyspace of unqualified names, also used for routing; None for the
        session's keyspace. Before version 5 of the protocol, the client first sends a USE on a
        connection, which takes longer.
    :param custom_payload: a mapping of strings to bytes for the server's query handler.
    :param is_idempotent: True if the statement may be executed more than once. Then it is sent
        again after errors that do not show whether it was executed, and speculative execution
        sends it to further hosts.
    :raises TypeError: if the query string is not a str.
    :raises ValueError: if `retry_policy` is not a retry policy, or `serial_consistency_level` is
        not serial.
    """

    __slots__ = ("_is_lwt", "_query_string")

    def __init__(
        self,
        query_string: str,
        retry_policy: RetryPolicy | None = None,
        consistency_level: int | None = None,
        routing_key: RoutingKey = None,
        serial_consistency_level: int | None = None,
        fetch_size: int | None = FETCH_SIZE_UNSET,
        keyspace: str | None = None,
        custom_payload: Mapping[str, bytes | None] | None = None,
        is_idempotent: bool = False,
        **_unknown: NoReturn,
    ) -> None:
        if _unknown:
            raise unknown_option("SimpleStatement", _unknown)
        super().__init__(
            retry_policy,
            consistency_level,
            routing_key,
            serial_consistency_level,
            fetch_size,
            keyspace,
            custom_payload,
            is_idempotent,
        )
        if not isinstance(query_string, str) and not is_mock(query_string):  # type: ignore[unreachable]
            raise TypeError(_not_a_string(query_string))
        self._query_string = query_string
        self._is_lwt: bool | None = None

    @property
    def query_string(self) -> str:
        """The query string as the application passed it."""
        return self._query_string

    def is_lwt(self) -> bool:
        # Cache the result, because an application may execute the statement many times.
        conditional = self._is_lwt
        if conditional is None:
            conditional = self._is_lwt = is_conditional(self.query_string)
        return conditional

    def _set_defaults(self) -> None:
        SimpleStatement.__init__(self, "")

    def __str__(self) -> str:
        level = ConsistencyLevel.value_to_name.get(
            self.consistency_level,  # type: ignore[arg-type]
            "Not Set",
        )
        return f'<SimpleStatement query="{self.query_string}", consistency={level}>'

    __repr__ = __str__


class HostTargetingStatement:
    """Wraps a statement and names the host that `DefaultLoadBalancingPolicy` tries first.

    All other attributes are attributes of the inner statement.

    :param inner_statement: the statement to wrap.
    :param target_host: the `Host`, its end point or its address.
    """

    def __init__(self, inner_statement: Statement, target_host: Host | EndPoint | str) -> None:
        self.inner_statement = inner_statement
        self.target_host = target_host

    def __getattr__(self, name: str) -> Any:
        # Python calls this method only for attributes that this object lacks. `copy` and `pickle`
        # look up attributes before the copy has `inner_statement`: without this check, the look-up
        # below would call this method again, without end.
        if name == "inner_statement":
            raise AttributeError(f"the copy has no {name} yet")
        return getattr(self.inner_statement, name)


def are_empty(parameters: object) -> bool:
    """Return True if `parameters` is an empty sequence or mapping.

    In that case, the query string is sent unchanged, because wrappers of `execute` pass ``()`` or
    ``{}`` if there are no parameters.
    """
    # Use `len` instead of `not parameters`: an object of the application may be false although it
    # has values, and testing an array for truth raises an error.
    return isinstance(parameters, (tuple, list, dict, Mapping, Sequence)) and not len(parameters)


class InterpolatedText(str):
    """A query string into which values were written.

    `template` is the query string without the values, for messages and logs.
    """

    __slots__ = ("template",)

    template: str

    @classmethod
    def of(cls, template: str, values: object, display_text: str) -> InterpolatedText:
        """Fill the placeholders of `template` with `values`.

        If the values do not fit, this raises the error of str's operator ``%``.

        :param template: the query string with placeholders.
        :param values: a tuple of literals for ``%s``, or a dict for ``%(name)s``.
        :param display_text: the query string for messages and logs.
        """
        text = cls(
            (separate_minus_signs(template, values) if "-%" in template else template) % values
        )
        text.template = display_text
        return text


def bind_params(
    query: str, params: Sequence[object] | Mapping[str, object], encoder: Encoder | None = None
) -> str:
    """Return `query` with ``%s`` or ``%(name)s`` replaced by CQL literals of `params`.

    :param query: the query string with placeholders. A literal ``%`` is written ``%%``.
    :param params: a sequence for ``%s``, or a mapping for ``%(name)s``. Values of a mapping that
        the query does not name may be of any class: they are not encoded.
    :param encoder: the encoder that makes the literals; None for the default encoder.
    :raises TypeError: if `params` is neither a sequence nor a mapping, is a set of several values,
        or does not fit the placeholders.
    :raises ValueError: if the placeholders are malformed. The message quotes the beginning of the
        query.
    :raises MissingParameter: a KeyError and a ValueError, if a placeholder names a parameter that
        is missing.
    :raises EncodeValueError: if a string has half a surrogate pair, which UTF-8 cannot encode.
    """
    encode: Callable[[object], str] = (encoder or Encoder()).cql_encode_all_types
    if is_table(params):
        refuse_table(params)
    # Refuse a str, which is a sequence: "abc" would silently become three parameters.
    if isinstance(params, (str, bytes)) or not isinstance(params, Iterable):
        advice = "a single one is written (value,), several are written (first, second)"
        if isinstance(params, bytes):
            advice += "; a paging state is paging_state=..."
        raise TypeError(
            f"parameters are a sequence or a mapping, not {type(params).__name__}: {params!r}; "
            f"{advice}"
        )
    # Refuse a set of several values: it has no order, so the values would be stored in arbitrary
    # columns.
    if isinstance(params, (set, frozenset)) and len(params) > 1:
        raise TypeError(
            f"parameters are the set {params!r}, which has no order: write a tuple, "
            "(first, second), or a mapping"
        )
    values: Any
    passed_params = params
    # Encode by comprehensions and not by `map`: an application's method may raise StopIteration,
    # which would silently end `map`.
    if isinstance(params, Mapping):
        # Do not encode values that the query does not name: `locals()` may have any objects. (For a
        # placeholder without a name, Python inserts the whole mapping.)
        names = placeholder_names(query)
        if names is not None and not names.issuperset(params):
            params = {name: value for name, value in params.items() if name in names}
        values = {name: encode(value) for name, value in params.items()}
        has_tuple = any(isinstance(value, tuple) for value in params.values())
    else:
        # Make a tuple of any other iterable, because a generator can be read only once.
        params = params if isinstance(params, (tuple, list)) else tuple(params)
        values = tuple([encode(value) for value in params])
        has_tuple = any(isinstance(value, tuple) for value in params)
    template = query
    if has_tuple:
        template, values = _put_tuples_in_parentheses(query, params, values, encode)
    try:
        text = InterpolatedText.of(template, values, query)
    except (TypeError, ValueError, KeyError) as error:
        if isinstance(passed_params, Mapping):
            description = f"names {', '.join(map(repr, passed_params))}"
        else:
            description = f"{len(params)} parameter{'s' * (len(params) != 1)}"
        error_class = MissingParameter if isinstance(error, KeyError) else type(error)
        raise error_class(
            f"the placeholders of {query_head(query)} do not fit the {description} given: "
            f"{_placeholder_mistake(query, error, passed_params)}"
        ) from error
    if not text.isascii():
        _refuse_lone_surrogates(text, params)
    if "TIMESTAMP " in query or "timestamp " in query:
        warn_of_literal(text)
    return text


def _placeholder_mistake(query: str, error: Exception, params: object) -> str:
    """Return why the placeholders of `query` do not fit, with advice for common mistakes.

    :param query: the query string with placeholders.
    :param error: the error of the operator ``%``.
    :param params: the parameters as they were passed.
    """
    has_names = isinstance(params, Mapping)
    reason = f"no parameter is named {error}" if isinstance(error, KeyError) else str(error)
    query_without_percent_signs = query.replace("%%", "")
    if (
        re.search(r"%[-+#0]*\d*(?:\.\d+)?[difeg]\b", query_without_percent_signs)
        and "real number" in reason
    ):
        # Python's message would ask for a number, although the application has passed a number: the
        # client has already converted it to a CQL literal, which is a string.
        return "write %s for every value, also for numbers; a literal % is written %%"
    if re.search(r"%(?![(s%])", query_without_percent_signs):
        return f"{reason}; a literal % is written %%"
    has_name_placeholder = "%(" in query_without_percent_signs
    has_plain_placeholder = "%s" in query_without_percent_signs
    is_for_in = re.search(r"\bIN\s+%s", query_without_percent_signs, re.IGNORECASE)
    if not has_names and is_for_in and "not all arguments" in reason:
        return f"{reason}; IN %s takes one parameter, a tuple of values: pass ((1, 2),)"
    if has_names and has_plain_placeholder:
        return f"{reason}; %s is for a sequence, write %(name)s"
    if not has_names and has_name_placeholder:
        # A named tuple or a pandas Series was passed: its values have names, but it is not a
        # mapping.
        for method in ("_asdict", "to_dict"):
            if hasattr(params, method):
                return f"{reason}; %(name)s is for a mapping, write parameters.{method}()"
        return f"{reason}; %(name)s is for a mapping, write %s"
    if not has_plain_placeholder and not has_name_placeholder:
        return "the text has no placeholder: write %s or ?, without quotes"
    return reason


def _refuse_lone_surrogates(text: str, params: Any) -> None:
    """Raise EncodeValueError if a parameter makes it impossible to encode the statement `text`.

    JSON can contain half a surrogate pair, so web services get such strings from their clients. The
    error names the parameter, like the error for a bound value.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        for key, value in params.items() if isinstance(params, Mapping) else enumerate(params):
            if isinstance(value, str):
                try:
                    text_bytes(value, "text")
                except ValueError as error:  # EncodeValueError
                    raise type(error)(f"parameter {key!r}: {error}") from None


# `query_head` looks at this many characters of a query string.
_LONGEST_HEAD = 1 << 10

# Matches ``%%``, or a placeholder. The group `head` is the word IN before the placeholder.
_PLACEHOLDER = r"%%|(?P<head>\bIN\s*)?%(?:\((?P<name>[^)]*)\))?s"


def _put_tuples_in_parentheses(
    query: str, params: Any, values: Any, encode: Callable[[object], str]
) -> tuple[str, Any]:
    """Return the query string and its literals, with tuples after ``IN`` in parentheses.

    ``IN %s`` needs ``(1, 2)``. In any other position, a tuple is written as a list, ``[1, 2]``.
    """
    is_by_name = isinstance(params, Mapping)
    values = dict(values) if is_by_name else list(values)
    position = 0

    def replace_placeholder(match: re.Match[str]) -> str:
        nonlocal position
        name, after_in = match["name"], match["head"] is not None
        has_name = name is not None
        # Leave ``%%`` unchanged. Also leave a placeholder that does not fit the parameters (``%s``
        # with a mapping, ``%(name)s`` with a sequence): the caller raises an error for it.
        if match[0] == "%%" or has_name != is_by_name:
            return match[0]
        name_or_position: Any = name if is_by_name else position
        position += 1
        has_parameter = name_or_position in values if is_by_name else name_or_position < len(values)
        # Leave a placeholder unchanged if it does not follow IN, or if it has no parameter.
        if not after_in or not has_parameter:
            return match[0]
        value = params[name_or_position]
        if not isinstance(value, tuple):
            return match[0]
        literal = _literal_after_in(value, encode)
        if not is_by_name:
            values[name_or_position] = literal
            return match[0]
        # Store this literal under a new name, because the same parameter may also occur without
        # ``IN``.
        values[f"IN {name_or_position}"] = literal
        return f"{match['head']}%(IN {name})s"

    return re.sub(_PLACEHOLDER, replace_placeholder, query, flags=re.IGNORECASE), (
        values if is_by_name else tuple(values)
    )


def _literal_after_in(value: tuple[Any, ...], encode: Callable[[object], str]) -> str:
    """Return the literal of a tuple after ``IN``, in parentheses."""
    literal = encode(value)
    if not literal.startswith("["):
        return literal  # the application has registered an encoder for tuples
    items = [
        _literal_after_in(item, encode) if isinstance(item, tuple) else encode(item)
        for item in value
    ]
    return f"({', '.join(items)})"


def query_head(query: object, size: int = 100) -> str:
    """Return the quoted beginning of a query string, for messages.

    Values that were written into the query string are left out, because they may be secrets. So are
    passwords, and all values of statements about roles.
    """
    if isinstance(query, InterpolatedText):
        query = query.template
    # Remove secrets before the text is cut, because a part of a password may no longer look like
    # one. A message does not need the rest of a text of megabytes.
    text = " ".join(without_secrets(str(query)[:_LONGEST_HEAD]).split())
    return repr(text if len(text) <= size else text[: size - 3] + "...")


def shown_argument(argument: object) -> str:
    """Return a wrong argument of a call for an error message, without values that may be secret.

    Statements are shown by `query_head`, and tuples and lists by their length.
    """
    if argument is None or isinstance(argument, (bool, int, float, type)):
        return repr(argument)
    if isinstance(argument, str):
        return query_head(argument)
    if isinstance(argument, bytes):
        return f"b{query_head(argument.decode(errors='replace'))}"
    if isinstance(argument, (tuple, list)):
        return f"a {type(argument).__name__} of {len(argument)}"
    query_string = getattr(argument, "query_string", None)
    if isinstance(query_string, str):
        return f"<{type(argument).__name__} {query_head(query_string)}>"
    # The repr of an application's object may have values, too.
    return object.__repr__(argument)


for _class in (Statement, SimpleStatement, HostTargetingStatement):
    _class.__module__ = "cassandra.query"
del _class

add_habits(SimpleStatement, STATEMENT)
