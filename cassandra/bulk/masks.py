"""Warns if a session reads the masks of columns in place of their values.

If a role lacks the permission UNMASK, Cassandra 5.0 sends the mask of a column instead of its
values, and nothing in the response shows which of the two it is. A copy or an unload would store
masks, and a load of such files would replace the values in the table by masks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from cassandra._later_warnings import warn
from cassandra.bulk.plain import PlainRows
from cassandra.bulk.scan_plan import known_table_steps, system_query
from cassandra.bulk.target import full_name, names_in
from cassandra.errors import DriverException, InvalidRequest, Unauthorized
from cassandra.util.cql_text import cql_string, protect_name

if TYPE_CHECKING:
    from cassandra.metadata.schema.tables import TableMetadata

Steps = Generator[Callable[[Any], Any], Any, None]


def mask_steps(session: Any, name: str, columns: Sequence[str] | str | None, work: str) -> Steps:
    """Warn if a copy or an unload reads masked columns, and the role may lack UNMASK.

    A server is only asked for the permission if the table has masked columns that are read.

    This is a generator without I/O, like `cassandra.bulk.scan_plan.plan_steps`.

    :param session: a blocking or asyncio session; only its metadata and settings are used.
    :param name: the table or view that is read.
    :param columns: the columns that are read, as names, or as a string of CQL selectors; None for
        all columns.
    :param work: "the copy" or "the unload", for the warning.
    """
    table = yield from known_table_steps(session, name, with_views=True)
    masked = _masked_columns(table, columns)
    if not masked:
        return
    role = getattr(session.cluster.auth_provider, "username", None)
    if not isinstance(role, str):
        role = None
    lacks_permission = yield from _lacks_permission(table, role)
    if lacks_permission is False:
        return
    if len(masked) == 1:
        what = f"column {masked[0]!r} of {full_name(table)} has a mask"
    else:
        what = f"columns {', '.join(map(repr, masked))} of {full_name(table)} have masks"
    who = "the role of this session" if role is None else f"the role {role!r}"
    effect = "lacks the permission UNMASK, so" if lacks_permission else "may lack UNMASK: then"
    grantee = "this role" if role is None else protect_name(role)
    warn(
        f"{what}, and {who} {effect} {work} has masks in place of values. Write GRANT UNMASK ON "
        f"TABLE {full_name(table)} TO {grantee}, or name other columns by columns="
    )


def _masked_columns(table: TableMetadata, columns: Sequence[str] | str | None) -> list[str]:
    """Return the names of the masked columns that are read."""
    masked = [name for name, column in table.columns.items() if column.mask is not None]
    if not masked or columns is None:
        return masked
    # `names_in` converts names without quotes to lower case, as servers do.
    names = names_in(columns) if isinstance(columns, str) else {*columns}
    is_all = isinstance(columns, str) and "*" in columns
    return [name for name in masked if is_all or name in names]


def _lacks_permission(
    table: TableMetadata, role: str | None
) -> Generator[Callable[[Any], Any], Any, bool | None]:
    """Ask a server if a role lacks the permission UNMASK for a table; return True if it does.

    :param role: the role of the session; None if it is unknown, as with client certificates.
    :returns: None if we cannot find out.
    """
    permissions = f"LIST UNMASK PERMISSION ON TABLE {full_name(table)}"
    try:
        if role is not None:
            with suppress(InvalidRequest):  # there is no such role
                # Both queries also return what the role has inherited from roles that were granted
                # to it.
                page = yield system_query(f"{permissions} OF {cql_string(role)}")
                # The result for no permissions has no columns.
                if page.column_names and PlainRows().tuples(page):
                    return False
                page = yield system_query(f"LIST ROLES OF {cql_string(role)}")
                is_superuser = (page.column_names or []).index("super")
                return not any(row[is_superuser] for row in PlainRows().tuples(page))
        # The role is unknown. Only superusers, who always read values, may list all permissions. So
        # if this query succeeds, the session reads values.
        yield system_query(permissions)
    except InvalidRequest:
        return False  # this server has no permissions: anyone reads values
    except Unauthorized as error:
        # If the cluster does not use authentication, the user is "anonymous", and everybody reads
        # values. We look for this word, because the error code is the same as for a missing
        # permission.
        return False if "anonymous" in str(error) else None
    except (DriverException, ValueError):
        return None
    return False
