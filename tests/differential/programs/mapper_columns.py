"""Writes and reads values of many types through each column class of the mapper.

Every function without an underscore is a program that each driver runs. `context` is a
`ProgramContext` (see `tests.differential.worker`): it gives sessions, and records outcomes.
`context.record(label, value)` records a value. `context.record_call(label, function, *arguments)`
calls the function, records its result or error, and returns the result, or None after an error.
"""

import datetime
import decimal
import os
import runpy

from cassandra.cqlengine import columns
from cassandra.cqlengine.management import sync_table
from cassandra.cqlengine.models import Model

STATEMENTS = False  # do not compare the requests that the node receives
# Use the same values as the programs of types_bound.py.
_HERE = os.path.join(os.environ["DIFFERENTIAL_PROGRAMS"], "types_bound.py")
VALUES = runpy.run_path(_HERE, run_name="values of types")["VALUES"]
KINDS = {
    "Ascii": columns.Ascii,
    "BigInt": columns.BigInt,
    "Blob": columns.Blob,
    "Boolean": columns.Boolean,
    "Date": columns.Date,
    "DateTime": columns.DateTime,
    "Decimal": columns.Decimal,
    "Double": columns.Double,
    "Float": columns.Float,
    "Inet": columns.Inet,
    "Integer": columns.Integer,
    "SmallInt": columns.SmallInt,
    "Text": columns.Text,
    "Time": columns.Time,
    "TimeUUID": columns.TimeUUID,
    "TinyInt": columns.TinyInt,
    "UUID": columns.UUID,
    "VarInt": columns.VarInt,
    "Duration": columns.Duration,
    "List": lambda **k: columns.List(columns.Integer, **k),
    "Set": lambda **k: columns.Set(columns.Text, **k),
    "Map": lambda **k: columns.Map(columns.Text, columns.Integer, **k),
    "Tuple": lambda **k: columns.Tuple(columns.Integer, columns.Text, **k),
}
# The programs that run several times, each with its cases.
EACH = {"created": list(KINDS), "converted": list(KINDS)}
_models = {}


def _model(context, name, *, keyed=False):
    """Return a model with a column of the given type; with `keyed`, this column is the key."""
    context.set_up_mapper()
    key = (context.keyspace, name, keyed)
    if key not in _models:
        attributes = {"v": KINDS[name]()}
        attributes["p"] = columns.Text(primary_key=True)
        if keyed:
            attributes = {"p": KINDS[name](primary_key=True), "v": columns.Text()}
        _models[key] = type(
            f"C{name}{'Key' * keyed}", (Model,), {"__module__": "programs", **attributes}
        )
        sync_table(_models[key])
    return _models[key]


def _usual(name):
    """Return True if any column can use the named value several times.

    The result is False for UNSET_VALUE, for classes, and for the generator, which can be read only
    once.
    """
    value = VALUES[name]
    return name not in ("unset", "generator") and not isinstance(value, type)


def created(context, kind):
    """Create a row with each value in a column of the given type, and read the row."""
    model = _model(context, kind)
    for name in filter(_usual, VALUES):
        context.record_call(name, lambda name=name: model.create(p=name, v=VALUES[name]).v)
        context.record_call(f"{name} read", lambda name=name: model.objects(p=name).first())


def converted(context, kind):
    """Validate each value with a column of the given type."""
    column = KINDS[kind]()
    for name in filter(_usual, VALUES):
        context.record_call(f"validate {name}", column.validate, VALUES[name])


def attributes(context):
    """Record the attributes of columns of each type."""
    for name, make in KINDS.items():
        column = make()
        for attribute in (
            "primary_key",
            "partition_key",
            "index",
            "db_field",
            "default",
            "required",
            "clustering_order",
            "discriminator_column",
            "static",
            "custom_index",
            "db_type",
            "has_default",
            "is_primary_key",
            "can_delete",
        ):
            context.record_call(f"{name} {attribute}", getattr, column, attribute)
        context.record_call(f"{name} default", column.get_default)
    context.record_call("counter default", lambda: columns.Counter().default)
    context.record_call("callable", lambda: columns.Text(default=lambda: "x").get_default())
    context.record_call(
        "rounded",
        lambda: columns.DateTime().to_python(datetime.datetime(2020, 1, 1, 1, 1, 1, 999999)),
    )
    context.record_call("date", lambda: columns.DateTime().to_python(datetime.date(2020, 1, 1)))
    context.record_call("decimal", lambda: columns.Decimal().to_database(decimal.Decimal("1.10")))
    context.record_call("boolean default", lambda: columns.Boolean(default=True).get_default())
