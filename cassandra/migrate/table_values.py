"""How this driver differs from other drivers: values, statements and results."""

from __future__ import annotations

from cassandra.migrate.entries import Difference
from cassandra.migrate.matchers import DIFFERS, NoticedAs
from cassandra.migrate.noticed import STRUCT

VALUES = [
    Difference(
        key="wrong-types",
        what=(
            "A value of a wrong type raises ``EncodeTypeError``, a ``TypeError``. A value out of "
            "range raises ``EncodeValueError``, a ``ValueError`` and ``OverflowError``. Both are "
            "raised before anything is sent. In cassandra-driver, the error is an "
            "``AttributeError``, ``struct.error``, ``IndexError``, ``KeyError`` or "
            "``NoHostAvailable``, depending on the type."
        ),
        why="The message has the value, its type and the column.",
        do="Catch ``TypeError`` and ``ValueError`` around values that users bring.",
        matchers=(NoticedAs(DIFFERS, STRUCT),),
    ),
    Difference(
        key="refused-values",
        what=(
            "Values that would be stored as something else are refused: an int for a blob (stored "
            "as that many zero bytes), a list of ints for one, bytes for a list, any object for a "
            "user-defined type (all fields null), a mapping or a set for a tuple, a data frame "
            "for a collection, ``12`` as an address, negative times."
        ),
        why="In cassandra-driver, the data is lost without an error.",
    ),
    Difference(
        key="order-of-sets",
        what=(
            "Sets and maps in a partition key, or inside of another value, are sent in the order "
            "in which servers keep them. In cassandra-driver, they are sent in the order of the "
            "Python set or dict."
        ),
        why=(
            "Otherwise a key that contains a set is not found, a condition with it is never "
            "true, and requests go to nodes that are no replicas."
        ),
    ),
    Difference(
        key="texts-of-objects",
        what=(
            "An object of an unknown class as a ``%s`` parameter is written by its ``__str__`` "
            "only if that returns exactly one literal or call, such as ``5``, ``'text'``, "
            "``{a: 1}`` or ``now()``. Everything else (a path, a fraction, a data frame) is a "
            "``TypeError``."
        ),
        why="In cassandra-driver, such a text can change the rest of the statement.",
        do=(
            "Pass a plain value, or set ``session.encoder.mapping[Class]`` to a function that "
            "returns a text that you trust."
        ),
    ),
    Difference(
        key="early-timestamps",
        what=(
            "A ``datetime`` before 1970 that has a part of a millisecond is rounded down, like one "
            "after 1970. cassandra-driver rounds it up, and also the last one of the year 9999."
        ),
        why="Moments keep their order, and times after 1970 are rounded down, too.",
        do=(
            "If such times are in a primary key, find the rows that cassandra-driver wrote by the "
            "next millisecond."
        ),
    ),
    Difference(
        key="nulls-in-collections",
        what=(
            "``None`` in a list, a set or a map of a prepared statement is sent as a null, which "
            "most servers refuse. A note of the error names the column and the element. "
            "cassandra-driver stores an empty value instead: for text, the empty string."
        ),
        why="An empty value is not what the application meant. scylla-driver sends nulls, too.",
        do="Leave such elements out before you bind the value.",
    ),
    Difference(
        key="more-values",
        what=(
            "More values are taken: members of enums by their values, NumPy's numbers, mappings "
            "and named tuples for user-defined types, generators, texts for identifiers and "
            "dates, subclasses of str in texts of statements."
        ),
        why="Their meaning is clear.",
    ),
    Difference(
        key="deprecation-warnings",
        what=(
            "No ``DeprecationWarning`` about indexes of results, legacy settings, ``len`` of "
            "querysets or release 4.0."
        ),
        why="This driver will keep all of these.",
    ),
    Difference(
        key="probable-mistakes",
        what=(
            "Calls that work, but probably do not do what was meant, issue a ``RuntimeWarning`` "
            "that says what to write: seconds for a ``timestamp``, a second iteration of a result "
            "whose rows were all read, the result of a lightweight transaction as a condition, a "
            "named tuple whose names are those of the markers in another order."
        ),
        why="cassandra-driver gives the same result without a warning.",
        do="If your tests turn warnings into errors, change the code as the warnings say.",
    ),
    Difference(
        key="lazy-rows",
        what=(
            "Rows are decoded when they are first looked at. An error of a row factory is raised "
            "there, not by ``execute``; a factory that gives no rows is a ``TypeError``."
        ),
        why="Rows that nobody reads cost nothing, and can go to columns.",
    ),
    Difference(
        key="arguments",
        what="Arguments of a wrong kind are a ``TypeError`` or ``ValueError`` when they are given.",
        why=(
            "In cassandra-driver, an ``AttributeError`` is raised inside the driver, or nothing "
            "until later."
        ),
    ),
    Difference(
        key="unregister-listener",
        what="``unregister_listener`` of one that is not registered does nothing.",
        why="There is nothing to take away.",
    ),
    Difference(
        key="indexing",
        what=(
            "``result[0]`` reads pages only until the first row, and a page is requested when its "
            "rows are needed. cassandra-driver reads all pages."
        ),
        why="Large results fit into memory.",
    ),
    Difference(
        key="empty-pages",
        what=(
            "``ResultSet.one`` and ``bool`` of a result skip empty pages. In cassandra-driver, "
            "they return None and False if the first page is empty, even if later pages have rows."
        ),
        why="None and False would mean that there is no row.",
    ),
    Difference(
        key="empty-paging-state",
        what="An empty ``paging_state`` is an ``InvalidPagingState``, which is a ``ValueError``.",
        why=(
            "It would mean the first page: a client that mangles its token would read that page "
            "again for ever."
        ),
        do="Pass None for the first page.",
    ),
    Difference(
        key="sync-statements",
        what=(
            "``sync_table``, ``sync_type`` and ``create_keyspace_*`` return the statements that "
            "they made."
        ),
        why="So a deployment can log them.",
    ),
]
