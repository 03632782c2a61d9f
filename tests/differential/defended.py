"""The intended differences of turbocql from the other drivers, and the programs that show them.

The differential tests (`tests.differential`) fail if a difference has no entry here, and if an
entry matches no difference. `documented(KEY, ...)` refers to an entry of `cassandra.migrate.table`,
which documents the difference for users. `Defended` explains a difference that is not documented
there.

The attribute `seen` of an entry has a `Seen` for each difference that it explains. A `Seen` has
patterns for the program, the label under which the program has recorded the value, the other
driver's value and ours. Patterns are as narrow as possible: if values differ, they name the program
and the label; if errors differ, the classes of both errors.
"""

from __future__ import annotations

from tests.differential.compare import Defended, Seen, documented
from tests.differential.elsewhere import ELSEWHERE

ENCODE = r"error\((ArithmeticError\|)?Encode(Type|Value)Error"
REFUSED = r"error\(CQLEngineException\|ValidationError\)"
SERVER = r"error\(.*(InvalidRequest|SyntaxException|ServerError|NoHostAvailable)"
ANY_ERROR = r"error\("
ROWS = r"ResultSet"
NOTHING = r"<nothing>"
TYPES = r"types_bound\."
BOUND = TYPES + r"(bound|read_again)\["


def _warns(program: str) -> Seen:
    """Return a `Seen` for programs in which only this driver issues a `RuntimeWarning`.

    :param program: matches names of programs.
    """
    return Seen(program, "warnings:RuntimeWarning", NOTHING, "warned")


SEEN = [
    documented("retry-idempotent", test="tests/unit/policies/test_retry.py"),
    documented(
        "wrong-types",
        seen=(
            Seen(BOUND, "show:", ANY_ERROR, ENCODE),
            Seen(r"values\.coding\[", "show:", ANY_ERROR, ENCODE),
            Seen(r"core_data\.wrong_parameters", "show:", ANY_ERROR, ENCODE),
        ),
    ),
    documented(
        "refused-values",
        seen=(
            Seen(BOUND, "show:", ROWS, ENCODE),
            Seen(BOUND, "(show|table):", r"(Row|\{|unreadable)", NOTHING),
            Seen(r"docs_core\.user_types", r"(show:dict write|table:people\[id=6\])"),
        ),
    ),
    documented("empty-pages", test="tests/unit/cluster/test_result_set.py"),
    documented(
        "named-keyspaces",
        seen=(
            Seen(r"generated_sessions\.named_keyspaces", "show:0 (string other|prepare|rest)"),
            Seen(r"generated_sessions\.tables", r"show:\d+ execute", r"error\(DriverException\)"),
        ),
    ),
    documented("no-time", test="tests/unit/client/test_requests.py"),
    documented("ignored-pages", test="tests/unit/engine/test_request.py"),
    documented("early-timestamps", test="tests/unit/cqltypes/test_moments.py"),
    documented("order-of-sets", test="tests/unit/cqltypes/test_server_order.py"),
    documented("texts-of-objects", test="tests/unit/test_encoder.py"),
    documented("nulls-in-collections", test="tests/unit/engine/test_null_positions.py"),
    documented(
        "more-values",
        seen=(
            Seen(TYPES, "show:", ANY_ERROR, r"(ResultSet|Row)"),
            Seen(TYPES, "(show|table):", NOTHING, r"(Row|\{|unreadable)"),
            Seen(r"types_bound\.bound\[timeuuid\]", "show:'uuid'", ANY_ERROR, SERVER),
            Seen(r"core_data\.uuids_and_dates", r"show:bound"),
            Seen(r"core_data\.sequences_as_text", r"show:in", ANY_ERROR, ROWS),
            Seen(r"docs_core\.sequences_for_in", r"show:tuple", ANY_ERROR),
            Seen(r"values\.coding\[", "show:", ANY_ERROR, r"[^e]"),
            Seen(r"values\.encoding", "show:subclass", r".*a'b", r".*'a''b'"),
            Seen(r"forms_of_calls\.bind_forms", "show:generator", ANY_ERROR, r"\["),
            Seen(
                r"forms_of_calls\.iterables_as_parameters",
                "show:prepared",
                r"error\(TypeError\)",
                r"(ResultSet|\[ExecutionResult\(success=True)",
            ),
            Seen(r"forms_of_calls\.moments_of_numpy", "show:bound", ANY_ERROR, ROWS),
            Seen(r"forms_of_calls\.moments_of_numpy", "show:bound .* read", r"\[\]", r"\[Row"),
        ),
    ),
    Defended(
        what="A timedelta in a simple statement is a TypeError before it is sent.",
        why="CQL has no literal for it: every server refuses the statement.",
        seen=(
            Seen(r"forms_of_calls\.moments_of_numpy", "show:interval", SERVER, r"error\(TypeError"),
            Seen(r"values\.encoding", "show:timedelta", r".*0:00:01", r"error\(TypeError"),
        ),
    ),
    Defended(
        what="``Encoder.cql_encode_unicode`` writes the literal of a text, the ``str`` of others.",
        why="There, it is the ``repr`` of bytes, and an AttributeError of others.",
        seen=(Seen(r"values\.encoding", "show:unicode of ", r"error\(Attr|.b"),),
    ),
    Defended(
        what="The keys of a dict, as sets, are refused as the values of a prepared statement.",
        why="The dict itself or its values were probably meant.",
        seen=(
            Seen(
                r"forms_of_calls\.iterables_as_parameters",
                "show:prepared keys of a dict",
                r"(ResultSet|\[ExecutionResult\(success=True)",
                r"error\(TypeError",
            ),
        ),
    ),
    documented(
        "vector-types",
        seen=(Seen(r"types_bound\.read_again\[vector", "show:types", "", r".*'vector<float, 3>'"),),
        test="tests/unit/drop_in/test_behaviour.py",
    ),
    documented(
        "probable-mistakes",
        seen=(
            # A named tuple that has the names of the markers in another order is bound by position.
            _warns(r"forms_of_calls\.names_in_another_order"),
            # For a date, the number 20260115 is a day over five million years ago, because 1970
            # begins at 2**31. It was probably meant as 15 January 2026.
            _warns(r"(generated_statements\.statements|types_bound\.(bound|read_again)\[date\])"),
            # A number for a timestamp is in milliseconds. A moment in January or February 1970 was
            # probably meant in seconds.
            _warns(r"types_bound\.(bound|read_again)\[timestamp\]"),
            # The first iteration has read all rows of a result, so a second iteration has no rows.
            _warns(r"(generated_statements\.fetching|core_data\.second_iteration)"),
            # The result of a lightweight transaction is true even if nothing was applied.
            _warns(r"core_data\.row_factories_of_programs"),
            # With a negative fetch size, one page has all rows. With a heartbeat timeout of 0, each
            # connection is closed.
            _warns(r"(docs_core\.paging|settings\.wrong_kinds\[idle_heartbeat_timeout\])"),
            # The mapper's statement for a new row cannot have the condition `if_exists`.
            _warns(r"mapper_pages\.conditions"),
            # A UUID that has no time is converted into a time.
            _warns(r"values\.times"),
        ),
    ),
    documented(
        "unknown-arguments",
        seen=(_warns(r"core_data\.(bound_with_parameters|counters_in_batches)"),),
        test="tests/unit/drop_in/test_settings.py",
    ),
    Defended(
        what="Statements that are refused or changed by the entries above are not sent, or other.",
        why="It is what those entries say, as the server sees it.",
        seen=(
            Seen(
                r"core_data\.(wrong_parameters|sequences_as_text|time_budgets|uuids_and_dates|"
                r"booleans|consistency_levels|row_factories_of_programs|missing_keyspaces|"
                r"attributes_of_futures|empty_settings)",
                "statements",
            ),
            Seen(r"docs_core\.", "statements"),
            Seen(r"generated_statements\.statements", "statements"),
        ),
    ),
    Defended(
        what="A null in a frozen list is read as None.",
        why="scylla-driver, which writes it, fails to read it; cassandra-driver has no null there.",
        seen=(
            Seen(
                r"types_bound\.read_again\[frozen<list<text>>\]",
                "show:.*None",
                "",
                r"Row\(v=\[None\]\)",
            ),
        ),
    ),
    Defended(
        what="A tuple without items is nulls instead of no bytes.",
        why="Servers have no empty tuple: its own tools fail to read it.",
        seen=(
            Seen(TYPES + r"read_again\[tuple", r"show:(\[\]|\(\)|set\(\))$"),
            Seen(TYPES + r"read_again\[list<frozen<tuple", r"show:\[\[\], \[1\]\]"),
            Seen(r"values\.coding\[TupleType", r"show:\(\) "),
        ),
    ),
    Defended(
        what="A NumPy number for a blob is its bytes, not that many zero bytes.",
        why="It has a buffer, as an array does.",
        seen=(Seen(BOUND + "blob", r"(show|table):.*np\.int"),),
    ),
    Defended(
        what=(
            "Texts with a value that CQL cannot have fail with another error of the server, or "
            "``UnicodeEncodeError``."
        ),
        why="The literals are different; neither has a meaning.",
        seen=(Seen(TYPES + "literal", "show:", ANY_ERROR, ANY_ERROR),),
    ),
    Defended(
        what=(
            "One request of the program's own making that cannot be encoded leaves its connection "
            "alone."
        ),
        why="There, the host counts as down for some seconds, and all requests fail.",
        seen=(Seen(r"(docs_core|core_data)\.", "show:", r"error\(NoHostAvailable\)"),),
    ),
    documented(
        "deprecation-warnings",
        seen=(
            Seen(
                r"(core_data|docs_core|generated_statements|settings|mapper_pages|values)\.",
                r"warnings:(Pending)?DeprecationWarning",
                "warned",
                NOTHING,
            ),
        ),
    ),
    documented(
        "lazy-rows",
        seen=(Seen(r"core_data\.row_factories_of_programs", r"show:(raises|number) "),),
    ),
    Defended(
        what=(
            "``was_applied`` answers with every row factory, and after rows were read; of a "
            "statement without a condition it is a ``RuntimeError``, always."
        ),
        why="There, it depends on the factory and the first column.",
        seen=(
            Seen(
                r"core_data\.row_factories_of_programs", r"show:(none|generator|empty|dicts|names) "
            ),
            Seen(r"core_data\.light_weight_transactions", r"show:named applied"),
        ),
    ),
    documented(
        "arguments",
        seen=(
            Seen(r"core_data\.wrong_parameters", "show:(query|positions|prepare) "),
            Seen(r"core_data\.(time_budgets|consistency_levels)", "show:kind"),
            Seen(r"core_data\.sessions_have", "show:set ", "None", r"error\(TypeError\)"),
            Seen(
                r"docs_core\.(positional_parameters|execution_profiles)",
                "show:(a text|clone wrong)",
            ),
            Seen(r"settings\.wrong_kinds\[", "show:", r"class Cluster|error", ANY_ERROR),
            Seen(r"settings\.(statements|profiles|authentication)", "show:"),
            Seen(
                r"values\.(tokens|quoting|times|interpolation|temporal|ranges)",
                "show:",
                "",
                ANY_ERROR,
            ),
            Seen(r"values\.encoding", "show:date of ", r"error\(Attr|.*1900", r"error\(TypeE"),
            Seen(r"values\.temporal", "show:Time -1", "", NOTHING),
            Seen(r"values\.times", "show:unix", "", NOTHING),
        ),
    ),
    Defended(
        what="Attributes that tell more: of prepared statements, sessions, settings and results.",
        why="What is None or private there is known here.",
        seen=(
            Seen(r"core_data\.prepared_attributes", "show:keyspace"),
            Seen(r"core_data\.sessions_have", "show:generator"),
            Seen(r"core_data\.attributes_of_futures", "show:traces"),
            Seen(r"core_data\.missing_keyspaces", "show:(empty|assigned)"),
            Seen(r"core_data\.empty_settings", "show:points (tuple|default|None)"),
            Seen(r"docs_core\.(callbacks_of_one_future|logins)", "show:"),
            Seen(r"settings\.setting\[(connection_class|executor_threads|contact_points)", "show:"),
            Seen(r"settings\.contact_points", "show:(generator|ipv6|port None)"),
            Seen(r"settings\.used_settings", "show:no timeouts"),
        ),
    ),
    documented(
        "unregister-listener",
        seen=(Seen(r"core_data\.listeners_at_connect", "show:unknown"),),
    ),
    Defended(
        what="A retry policy that answers with an unknown decision has the error raised.",
        why="There, the request has no rows and no error.",
        seen=(Seen(r"core_data\.what_retry_policies_hear", "show:number"),),
    ),
    Defended(
        what=(
            "Policies: unknown errors of a connection are raised, not sent to the next host; "
            "``max_attempts=0`` is no attempt."
        ),
        why="The server may have executed the request; 0 is not endless.",
        seen=(
            Seen(r"settings\.retrying", r"show:\w+ error"),
            Seen(r"settings\.reconnecting", "show:no attempts"),
        ),
    ),
    Defended(
        what=(
            "``DCAwareRoundRobinPolicy`` knows each host it is given, in any order, and takes the "
            "first ones of another data centre."
        ),
        why="There, of hosts whose data centres take turns, the last ones are known.",
        seen=(Seen(r"settings\.balancing", "show:dc remote (distances|plan)"),),
    ),
    documented(
        "protocol-versions",
        seen=(Seen(r"settings\.versions_of_the_protocol", "show:"),),
    ),
    documented(
        "indexing",
        seen=(Seen(r"generated_statements\.fetching", "statements"),),
    ),
    Defended(
        what=(
            "Bytes that are not a value of the type are a ``DecodeError`` (a ``ValueError``), and "
            "so are counts that cannot be."
        ),
        why="There, ``struct.error``, ``IndexError``, or a value that nobody wrote.",
        seen=(
            Seen(r"values\.decoding\[", "show:", "", ANY_ERROR),
            Seen(r"values\.packing", "show:"),
        ),
    ),
    Defended(
        what="Numbers, addresses and times are exact, and texts of types and values are their own.",
        why="There, decimals and dates go through floats.",
        seen=(
            Seen(r"values\.(times|packing|geometry|versions|names_of_types|replication)", "show:"),
            Seen(r"values\.(encoders_of_programs|interpolation|quoting|sorted_sets)", "show:"),
            Seen(
                r"values\.encoding",
                r"show:((object of )?True|decimal( exp)?|network|range|keys)( |$)",
            ),
            Seen(r"values\.coding\[UUIDType", "show:"),
            Seen(r"values\.clocks", "show:warning_(threshold|interval)", "1", r"1\.0"),
        ),
    ),
    Defended(
        what="A named tuple in a simple statement of a batch is the literal of a tuple.",
        why="There, it is the ``repr`` of the object. Servers refuse both for user-defined types.",
        seen=(
            Seen(
                r"generated_values\.in_keys",
                r"show:\d+ write",
                r"error\(.*SyntaxException",
                r"error\(.*InvalidRequest",
            ),
        ),
    ),
    documented(
        "sync-statements",
        seen=(
            Seen(
                r"mapper_",
                r"show:(sync|first|second|changed|other type|drop|keyspace)",
                "None",
                r"\[",
            ),
        ),
    ),
    documented(
        "mapper-validation",
        seen=(
            Seen(r"mapper_(pages|differences|columns)\.", "show:", "", REFUSED),
            Seen(r"mapper_columns\.", "show:", "", r"error\(ArithmeticError\|EncodeValueError"),
            Seen(r"mapper_columns\.created\[", "(show|table):", "", r"None|<nothing>"),
            Seen(r"mapper_differences\.iterables", "table:"),
            Seen(r"mapper_pages\.", "show:", "error", r"error\((ValueError|CQLEngineException)\)"),
            Seen(r"mapper_pages\.times_of_writes", "show:kind", r"error\(Attr", r"error\(TypeE"),
            Seen(r"mapper_pages\.batches", "show:type 0"),
            Seen(r"mapper_differences\.statements_of_the_connection", "show:number"),
        ),
    ),
    Defended(
        what=(
            "The mapper takes more: addresses and dates as objects, subclasses of str, NumPy's "
            "numbers, views of bytes, ``using`` on instances, ``values_list`` without names."
        ),
        why="There is one thing that they can mean.",
        seen=(
            Seen(r"mapper_columns\.(created|converted)\[", "show:", "", r"(?!error)"),
            Seen(r"mapper_columns\.created\[", "table:", "", r"\{"),
            Seen(r"mapper_pages\.contexts", "show:instance", ANY_ERROR),
            Seen(r"mapper_pages\.what_querysets_give", "show:(no names|defer all)"),
            Seen(r"mapper_pages\.batches", "show:type LOGGED"),
        ),
    ),
    Defended(
        what=(
            "Columns of the mapper have no private attributes of today's drivers (``cql_type`` as "
            "a class)."
        ),
        why="They are how the other mapper works inside.",
        seen=(Seen(r"mapper_differences\.small_ones", "show:cql type"),),
    ),
    documented(
        "clustering-filter",
        seen=(
            Seen(r"mapper_pages\.filters", "show:clustering alone"),
            Seen(
                r"generated_mapper\.readings",
                "show:",
                r"error\(CQLEngineException\|QueryExc",
                SERVER,
            ),
        ),
    ),
    documented(
        "deferred-columns",
        seen=(Seen(r"mapper_changes\.\w+\[(deferred|only)\]", ""),),
    ),
    documented(
        "changed-columns",
        seen=(
            Seen(r"mapper_changes\.\w+\[", "show:.* (changed|left)"),
            Seen(r"mapper_changes\.changed_inside\[", "(show:.*n( then| deleted|)$|table:)"),
            Seen(r"generated_mapper\.actions", "show:.* changed"),
        ),
    ),
    documented(
        "changed-user-types",
        seen=(
            Seen(r"mapper_pages\.user_types", "show:changed", r"\[\]", r"\['address'\]"),
            Seen(r"mapper_pages\.user_types", "show:again", "1", "99"),
        ),
    ),
    documented(
        "empty-set",
        seen=(
            Seen(r"mapper_differences\.sets_that_are_assigned", "show:add"),
            Seen(r"generated_mapper\.actions\[(75|89|95)\]", "table:"),
            Seen(r"mapper_changes\.changed_inside\[", "show:.* s( then|)$"),
        ),
    ),
    documented(
        "empty-paging-state",
        seen=(
            Seen(
                r"core_data\.empty_settings",
                r"show:paging_state$",
                "",
                r"error\(.*InvalidPagingState",
            ),
        ),
    ),
    documented(
        "nulls-once",
        seen=(Seen(r"mapper_changes\.created_with_null", ""),),
    ),
    documented(
        "batch-left",
        seen=(Seen(r"mapper_pages\.counters", "table:hits"),),
    ),
    Defended(
        what="Views have no ``default_time_to_live`` in their CQL, and tables without columns no options.",  # noqa: E501
        why="Servers refuse the first, and the second are not tables.",
        seen=(
            Seen(r"schema\.made\[view\]", r"show:(t export|view mv query)"),
            Seen(r"schema\.made_by_hand", r"show:(empty|export|not connected)"),
        ),
    ),
    Defended(
        what="``sync_table`` of a model with ``__default_ttl__`` warns, others do not.",
        why="The attribute has no effect; what today's drivers warn of has one.",
        seen=(
            Seen(r"mapper_pages\.options", "warnings:UserWarning", NOTHING),
            Seen(r"mapper_pages\.definitions", "warnings:UserWarning", "warned", NOTHING),
        ),
    ),
    documented(
        "update-null",
        seen=(
            Seen(
                r"generated_mapper\.(actions|in_batches)",
                "show:",
                SERVER,
                r"(None|True|Thing|error\(CQL)",
            ),
            Seen(r"generated_mapper\.actions\[(46|70)\]", "table:"),
            Seen(
                r"generated_mapper\.(actions|in_batches)", r"(table:thing\[c=1\d\d,|show:.* count)"
            ),
        ),
    ),
    documented(
        "list-remove",
        seen=(Seen(r"mapper_pages\.updates", "show:.* then", r".*'steps': \[5", "Event"),),
    ),
    documented(
        "count",
        seen=(Seen(r"generated_mapper\.readings", r"show:.* count", r"\d+$", r"\d+$"),),
    ),
    Defended(
        what="Columns that a filter fixes are filled in where ``only`` leaves them out.",
        why="Their value is known.",
        seen=(Seen(r"generated_mapper\.readings", r"show:.*'only'", r"\[?Thing", r"\[?Thing"),),
    ),
    documented(
        "mapper-decimals",
        seen=(
            Seen(r"mapper_pages\.values_of_columns", "show:read"),
            Seen(r"mapper_pages\.user_types", r"(show:dict|table:citizen\[id=3\])"),
        ),
    ),
    Defended(
        what="Moments before 1970 are rounded on the instance too, as they are stored.",
        why="So it equals the row that is read back.",
        seen=(Seen(r"mapper_differences\.dates_before_1970", "show:"),),
    ),
]

DEFENDED: list[Defended] = [*SEEN, *ELSEWHERE]
