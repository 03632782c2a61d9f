"""What the mapper writes for an instance that was changed in different ways.

Every function without an underscore is a program that each driver runs. `context` is a
`ProgramContext` (see `tests.differential.worker`): it gives sessions, and records outcomes.
`context.record(label, value)` records a value. `context.record_call(label, function, *arguments)`
calls the function, records its result or error, and returns the result, or None after an error.

A program runs once for each way in MADE to get an instance. In each run, it tries all values of
GIVEN for each column.
"""

from cassandra.cqlengine import columns
from cassandra.cqlengine.management import sync_table
from cassandra.cqlengine.models import Model

STATEMENTS = False  # do not compare the requests that the node receives


class Row(Model):
    """A model with plain columns, collections, and a column with another name in the table."""

    p = columns.Integer(primary_key=True)
    a = columns.Integer()
    n = columns.Integer(default=9)
    s = columns.Set(columns.Integer)
    l = columns.List(columns.Integer)  # noqa: E741
    m = columns.Map(columns.Text, columns.Integer)
    r = columns.Integer(db_field="renamed")
    i = columns.Integer(index=True)


# Values of all columns but the key: values that are not empty, empty values, and nulls.
FULL = {"a": 1, "n": 2, "s": {5}, "l": [5], "m": {"k": 5}, "r": 6, "i": 7}
EMPTY = {"a": None, "n": None, "s": set(), "l": [], "m": {}, "r": None, "i": None}
NULL = dict.fromkeys(FULL)
# Functions that return an instance with the key `p`, each in another way.
MADE = {
    "created": lambda p: Row.create(p=p),
    "created empty": lambda p: Row.create(p=p, s=set(), l=[], m={}),
    "created full": lambda p: Row.create(p=p, **FULL),
    "new": lambda p: Row(p=p),
    "new with null": lambda p: Row(p=p, **NULL),
    "read": lambda p: (Row.create(p=p), Row.get(p=p))[1],
    "read full": lambda p: (Row.create(p=p, **FULL), Row.get(p=p))[1],
    "deferred": lambda p: (Row.create(p=p, **FULL), Row.objects(p=p).defer(list(FULL)).first())[1],
    "only": lambda p: (Row.create(p=p, **FULL), Row.objects(p=p).only(["p", "a"]).first())[1],
    "saved new": lambda p: Row(p=p).save(),
    "updated blindly": lambda p: Row(p=p).update(a=1),
}
# The values that programs give to the columns.
GIVEN = {
    "null": NULL,
    "empty": EMPTY,
    "full": FULL,
    "other": {"a": 3, "n": 9, "s": {5, 6}, "l": [4, 5], "m": {"k": 5, "z": 1}, "r": 8, "i": 9},
}
NULLED = {"with null": lambda p: Row.create(p=p, **NULL)}
# The programs that run several times, each with its cases.
EACH = {
    "created_with_null": NULLED,
    "assigned_and_saved": MADE,
    "updated": MADE,
    "changed_inside": MADE,
    "saved_twice": MADE,
}
_synced_keyspaces = set()


def _set_up_table(context):
    """Connect the mapper, and create the table of `Row` if the keyspace does not have it yet."""
    context.set_up_mapper()
    if context.keyspace not in _synced_keyspaces:
        _synced_keyspaces.add(context.keyspace)
        sync_table(Row)


def _cases(context, make):
    """Yield (label, new instance, column, value) for each value and column.

    Before each case, another writer fills the row. After each case, the generator records the
    content of the row.
    """
    _set_up_table(context)
    key = 0
    for kind, values in GIVEN.items():
        for name, value in values.items():
            key += 1
            instance = make(key)
            Row(p=key).update(**FULL)
            yield f"{kind} {name}", instance, name, value
            context.record(f"{kind} {name} then", Row.objects(p=key).first())


def assigned_and_saved(context, make):
    """Assign each value to an attribute, save the instance, and record the changed columns."""
    for label, instance, name, value in _cases(context, make):
        setattr(instance, name, value)
        context.record(f"{label} changed", name in instance.get_changed_columns())
        context.record_call(label, lambda: instance.save() is instance)
        context.record(f"{label} left", sorted(instance.get_changed_columns()))


def created_with_null(context, make):
    """Record whether `save` of one changed column also writes the nulls from `create` again."""
    for label, instance, name, value in _cases(context, make):
        setattr(instance, name, value)
        context.record_call(label, lambda: instance.save() is instance)


def updated(context, make):
    """Update a column with each value, and record which columns still count as changed."""
    for label, instance, name, value in _cases(context, make):
        context.record_call(label, lambda: instance.update(**{name: value}) is instance)
        context.record(f"{label} left", sorted(instance.get_changed_columns()))


def changed_inside(context, make):
    """Change collections in place and delete other columns, then save."""
    for label, instance, name, value in _cases(context, make):
        collection = getattr(instance, name)
        if name == "s" and collection is not None:
            collection.update(value or {11})
        elif name == "l" and collection is not None:
            collection.extend(value or [11])
        elif name == "m" and collection is not None:
            collection.update(value or {"new": 11})
        else:
            context.record_call(f"{label} deleted", delattr, instance, name)
        context.record(f"{label} changed", name in instance.get_changed_columns())
        context.record_call(label, lambda: instance.save() is instance)


def saved_twice(context, make):
    """Save a value, an empty value, and the first value again."""
    for label, instance, name, value in _cases(context, make):
        setattr(instance, name, value)
        context.record_call(label, lambda: instance.save() is instance)
        setattr(instance, name, EMPTY[name])
        context.record_call(f"{label} emptied", lambda: instance.save() is instance)
        setattr(instance, name, value)
        context.record_call(f"{label} again", lambda: instance.save() is instance)
