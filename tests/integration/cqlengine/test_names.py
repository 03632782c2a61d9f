"""Names that contain quotes, percent signs or CQL comments work wherever the mapper uses a name."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import ConfigurationException, InvalidRequest
from cassandra.cqlengine import columns, connection, functions, management
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.named import NamedKeyspace, NamedTable
from cassandra.cqlengine.operators import EqualsOperator
from cassandra.cqlengine.query import BatchQuery
from cassandra.cqlengine.statements import SelectStatement, WhereClause
from cassandra.cqlengine.usertype import UserType
from cassandra.protocol import ServerError
from cassandra.query import SimpleStatement

from .names import NASTY

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("mapper")]

# Errors with which the server rejects a name. The server fails with ServerError if the name has a
# `%`, which appears in its error message. SyntaxException is not in the list: it would mean that
# the name was not quoted correctly and ended too early.
REFUSED = (InvalidRequest, ConfigurationException, ServerError)
ROW = {"i": 1, "c": 2, "v": "x", "s": {"a"}, "m": {"k": 1}}


def model_of(name: str, by_attribute: bool) -> Any:
    """Return a model whose column names all contain `name`.

    :param by_attribute: if True, the attributes' names contain `name`, too.
    """
    user_type = type(
        "Place", (UserType,), {"__module__": __name__, "f": columns.Text(db_field=name)}
    )
    user_type.__type_name__ = f"place_{NASTY.index(name)}"  # type: ignore[attr-defined]
    attributes: dict[str, Any] = {
        "i": columns.Integer(partition_key=True),
        "c": columns.Integer(primary_key=True, clustering_order="DESC"),
        "v": columns.Text(index=True),
        "s": columns.Set(columns.Text),
        "m": columns.Map(columns.Text, columns.Integer),
        "u": columns.UserDefinedType(user_type),
    }
    named_columns = {}
    for suffix, column in attributes.items():
        column.db_field = f"{name}{suffix}" if suffix != "v" else name
        named_columns[column.db_field if by_attribute else suffix] = column
    return type(
        "Nasty",
        (Model,),
        {"__module__": __name__, "__table_name__": f"nasty_{NASTY.index(name)}", **named_columns},
    )


@pytest.mark.parametrize("name", NASTY)
def test_statements_with_the_name_in_columns_fields_and_indexes(mapper: str, name: str) -> None:
    """Every kind of statement works if the names of columns, fields and indexes contain `name`."""
    model = model_of(name, by_attribute=False)
    # Three statements create the type, the table and the index.
    assert len(management.sync_table(model)) == 3
    assert management.sync_table(model) == []
    user_type = model.__mapping__.columns["u"].user_type
    row = model.create(**ROW, u=user_type(f="there"))
    row_read = model.objects(i=1, c=2).get()
    assert (row_read.v, row_read.s, row_read.m) == ("x", {"a"}, {"k": 1})
    assert row_read.u.f == "there"
    row_read.s.add("b")
    row_read.m["l"] = 2
    row_read.v = "y"
    row_read.iff(v="x").save()
    model.objects(i=1, c=2).iff(v="y").update(s__add={"c"}, m__remove={"k"}, v="z")
    (row_of_limit,) = model.objects(i=1).order_by("-c").only(["v", "s"]).limit(1)
    assert (row_of_limit.v, row_of_limit.s) == ("z", {"a", "b", "c"})
    assert model.objects(v="z").get().m == {"l": 2}
    assert model.objects(i=1, c__gte=2).defer(["s"]).first().v == "z"
    assert list(model.objects.values_list("v", flat=True)) == ["z"]
    assert model.objects.filter(pk__token__lte=functions.Token(1)).count() == 1
    assert [row.i for row in model.objects.distinct(["i"])] == [1]
    with BatchQuery() as batch:
        row.batch(batch).update(v="batched")
    table = NamedTable(mapper, f"nasty_{NASTY.index(name)}")
    rows_of_table = table.filter(**{f"{name}i": 1}).order_by(f"-{name}c")
    assert rows_of_table.only([name]).get() == {name: "batched"}
    # `connection.execute` does not prepare the query; it inserts the values as literals.
    select = SelectStatement(
        model.column_family_name(),
        [name],
        where=[WhereClause(f"{name}i", EqualsOperator(), 1)],
    )
    assert connection.execute(select).one() == {name: "batched"}
    model.objects(i=1, c=2).delete()
    assert model.objects.count() == 0
    management.drop_table(model)


@pytest.mark.parametrize("name", NASTY)
def test_filters_by_attributes_with_the_name_quote_it(mapper: str, name: str) -> None:
    """A filter by a keyword that contains the name quotes the name in its statement."""
    model = model_of(name, by_attribute=True)
    statement = str(model.objects.filter(**{f"{name}i": 1, f"{name}c__gt": 2}).only([name]))
    assert statement.count('"') % 2 == 0
    quoted = name.replace('"', '""')
    assert f'SELECT "{quoted}" FROM {mapper}.nasty_{NASTY.index(name)}' in statement
    assert f'"{quoted}i" = %(0)s AND "{quoted}c" > %(1)s' in statement


def is_plain(name: str) -> bool:
    """Return True if Cassandra accepts the name for a table or a keyspace."""
    return name.isascii() and name.replace("_", "a").isalnum()


@pytest.mark.parametrize("name", NASTY)
def test_keyspaces_tables_and_types_with_the_name_are_created_or_rejected(
    mapper: str, name: str
) -> None:
    """The server accepts or rejects each name as a whole; no part of the name is read as CQL."""
    if is_plain(name):
        management.create_keyspace_simple(name, 1)
        assert name in connection.get_cluster().metadata.keyspaces
        management.drop_keyspace(name)
        assert name not in connection.get_cluster().metadata.keyspaces
    else:
        # The server rejects the characters of the name. If the name ended too early, the server
        # would send a SyntaxException, which is not in REFUSED.
        with pytest.raises(REFUSED):
            management.create_keyspace_simple(name, 1)
        with pytest.raises(REFUSED):
            management.create_keyspace_network_topology(name, {"dc": 1})
        with pytest.raises(REFUSED):
            management.drop_keyspace(name)
    for table in (NamedTable(mapper, name), NamedKeyspace(mapper).table(name)):
        with pytest.raises(InvalidRequest, match=r"(?i)table|unconfigured"):
            table.objects.first()
    # There is no keyspace of this name. The server must report the missing keyspace, and no syntax
    # error.
    with pytest.raises(InvalidRequest, match=r"(?i)keyspace"):
        NamedTable(name, "t").objects.first()
    model: Any = type(
        "T",
        (Model,),
        {
            "__module__": __name__,
            "__table_name__": name,
            "__table_name_case_sensitive__": True,
            "id": columns.Integer(primary_key=True),
        },
    )
    with pytest.raises(InvalidRequest, match=r"(?i)keyspace"):
        model.objects.using(keyspace=name).create(id=1)
    if is_plain(name):
        management.sync_table(model)
        assert model.create(id=1).id == 1
        assert NamedTable(mapper, name).get(id=1) == {"id": 1}
        management.drop_table(model)
    else:
        with pytest.raises(REFUSED):
            management.sync_table(model)
    user_type: Any = type(
        "T", (UserType,), {"__module__": __name__, "__type_name__": name, "a": columns.Text()}
    )
    statement = management.get_create_type(user_type, mapper)
    assert statement.endswith("(a text)")
    quoted = name.lower().replace('"', '""')
    assert f'{mapper}."{quoted}" (' in statement or f"{mapper}.{quoted} (" in statement


def test_unknown_columns_with_these_names_are_invalid_and_drop_no_table(mapper: str) -> None:
    """For a column name that the table lacks, the server only reports an error."""
    connection.execute(
        SimpleStatement(f"CREATE TABLE IF NOT EXISTS {mapper}.t (id int PRIMARY KEY)")
    )
    for name in NASTY:
        with pytest.raises(InvalidRequest):
            NamedTable(mapper, "t").filter(**{name: 1}).first()
        with pytest.raises(InvalidRequest):
            NamedTable(mapper, "t").objects.filter(id=1).order_by(name).first()
        with pytest.raises(InvalidRequest):
            NamedTable(mapper, "t").objects.only([name]).first()
    assert NamedTable(mapper, "t").objects.count() == 0
