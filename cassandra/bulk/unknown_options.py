"""Makes the error for an option that a bulk call (load, scan, unload) does not have.

The error says what to write instead.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from cassandra._misspelt import nearest

# For option names of other APIs, what to write instead. There is a dict for all calls, for calls
# that read tables, and for calls that use text files.
IN_ALL_CALLS = {
    **dict.fromkeys(("workers", "threads", "parallelism", "max_workers"), "write concurrency=n"),
    **dict.fromkeys(
        ("keyspace", "ks", "schema_name", "database"), "write the table as 'keyspace.table'"
    ),
}
FOR_READING = dict.fromkeys(("max_rows", "nrows"), "write limit=n")
FOR_TEXT_FILES = {
    **dict.fromkeys(("sep", "separator", "delim"), "write delimiter=';'"),
    **dict.fromkeys(("quotechar", "quote_char"), "write quote='\"'"),
}


def unknown_option(
    call: str, name: str, names: Collection[str], instead: Mapping[str, str]
) -> TypeError:
    """Return the error for an option that a call does not have.

    :param call: the beginning of the message, such as "a scan does not have the option".
    :param name: the unknown option.
    :param names: the options that the call has.
    :param instead: what to write instead of options of other APIs, by name.
    """
    advice = instead.get(name)
    if advice is None:
        similar_name = nearest(name, names)
        advice = (
            f"did you mean {similar_name!r}?" if similar_name else f"there are {', '.join(names)}"
        )
    return TypeError(f"{call} {name!r}; {advice}")
