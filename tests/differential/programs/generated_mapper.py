"""Random programs that use the mapper; the number in a program's name is its seed.

Every function without an underscore is a program that each driver runs. `context` is a
`ProgramContext` (see `tests.differential.worker`): it gives sessions, and records outcomes.
`context.record(label, value)` records a value. `context.record_call(label, function, *arguments)`
calls the function, records its result or error, and returns the result, or None after an error.
"""

import datetime
import random

from cassandra.cqlengine import columns
from cassandra.cqlengine.management import sync_table
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery, ContextQuery

STATEMENTS = False  # do not compare the requests that the node receives
# The programs that run several times, each with its cases.
EACH = {"actions": range(150), "readings": range(40), "in_batches": range(40)}
KEYS = (1, 2, 3)  # partition keys
PLACES = (1, 2)  # clustering keys

_synced_keyspaces = set()


class Thing(Model):
    """A model with one column of each kind, and defaults."""

    p = columns.Integer(primary_key=True)
    c = columns.Integer(primary_key=True)
    a = columns.Integer()
    t = columns.Text()
    n = columns.Integer()
    z = columns.Text(static=True)
    s = columns.Set(columns.Integer)
    l = columns.List(columns.Integer)  # noqa: E741
    m = columns.Map(columns.Text, columns.Integer)
    r = columns.Integer(db_field="renamed")


def _set_up_table(context):
    """Connect the mapper, and create the table of `Thing` if the keyspace does not have it yet."""
    context.set_up_mapper()
    if context.keyspace not in _synced_keyspaces:
        _synced_keyspaces.add(context.keyspace)
        sync_table(Thing)


def _values(rng, least_count=0, *, is_new=True):
    """Return random values by column name.

    :param rng: the random number generator.
    :param least_count: the least number of columns.
    :param is_new: True for new rows, False for updates. New rows get no nulls, because other
        drivers would write the nulls again at each save.
    """
    value_makers = {
        "a": lambda: rng.choice([None, 0, 1, 5, -7]),
        "t": lambda: rng.choice([None, "", "x", "it's", "ä%"]),
        "n": lambda: rng.choice([None, 9, 10]),
        "z": lambda: rng.choice(["static", "other"]),
        "s": lambda: rng.choice([None, set(), {1}, {1, 2, 3}, {5}]),
        "l": lambda: rng.choice([None, [], [1], [1, 2, 1], [3, 2, 1]]),
        "m": lambda: rng.choice([None, {}, {"a": 1}, {"a": 2, "b": 3}]),
        "r": lambda: rng.choice([None, 4, 6]),
    }
    names = rng.sample(sorted(value_makers), rng.randint(least_count, 4))
    if not is_new:
        # Do not update the static column: other drivers send its update with the whole primary key,
        # and the server refuses that.
        names = [name for name in names if name != "z"] or ["a"]
    values = {name: value_makers[name]() for name in names}
    if is_new:
        return {name: value for name, value in values.items() if value is not None}
    return {name: [] if name == "l" and value is None else value for name, value in values.items()}


def _key(rng):
    """Return a random primary key: one of six."""
    return {"p": rng.choice(KEYS), "c": rng.choice(PLACES)}


def _operations(rng):
    """Return keyword arguments for `update` that change collections, such as ``s__add={7, 8}``."""
    values = {
        "s__add": {7, 8},
        "s__remove": {1},
        "l__append": [4],
        "l__prepend": [0, 9],
        "m__update": {"b": 5, "c": 6},
        "m__remove": {"a"},
    }
    names = rng.sample(sorted(values), rng.randint(1, 2))
    # No driver accepts two operations on one column, so leave out columns that were drawn twice.
    return {
        name: values[name] for name in names if sum(other[0] == name[0] for other in names) == 1
    }


def _change(rng, instance):
    """Assign random values to an instance, and change some of its collections in place.

    :returns: the instance.
    """
    for name, value in _values(rng, least_count=1, is_new=False).items():
        setattr(instance, name, value)
    for name in ("s", "l", "m"):
        collection = getattr(instance, name)
        if collection is not None and rng.random() < 0.3:
            # The elements 11 and 12 and the key "new" occur in no other value, so adding them is
            # always a change.
            if name == "s":
                collection.add(rng.choice([11, 12]))
            elif name == "l":
                collection.append(rng.choice([11, 12]))
            else:
                collection["new"] = 11
    return instance


def _context(rng, target):
    """Return a model or queryset with random options for its writes."""
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        option = rng.choice(["ttl", "timestamp", "consistency"])
        if option == "ttl":
            target = target.ttl(500)
        elif option == "timestamp":
            target = target.timestamp(datetime.timedelta(seconds=rng.choice([2, 3])))
        else:
            target = target.consistency(1)
    return target


class _Actions:
    """The random actions of a program.

    `held` has the instances that the program has created or read. Do not rename or reorder the
    methods: their names are labels in outcomes, and the actions that a seed chooses depend on their
    order.
    """

    def __init__(self, rng):
        self.rng = rng
        self.held = []
        self.last = 100

    def unique(self):
        """Return a number that no other row has.

        All writes of a batch have the same timestamp, so two writes of one row would have no
        certain outcome.
        """
        self.last += 1
        return self.last

    def keep(self, instance):
        self.held.append(instance)
        return instance

    def pick(self):
        return self.rng.choice(self.held)

    def create(self):
        return self.keep(Thing.create(**_key(self.rng), **_values(self.rng)))

    def create_by_queryset(self):
        return self.keep(Thing.objects.create(**_key(self.rng), **_values(self.rng)))

    def create_in_context(self):
        target = _context(self.rng, Thing)
        return self.keep(target.create(**_key(self.rng), **_values(self.rng)))

    def save_new(self):
        return self.keep(Thing(**_key(self.rng), **_values(self.rng)).save())

    def read(self):
        return self.keep(Thing.get(**_key(self.rng)))

    def change_and_save(self):
        return _change(self.rng, self.pick()).save()

    def update(self):
        return self.pick().update(**_values(self.rng, 1, is_new=False))

    def change_and_update(self):
        return _change(self.rng, self.pick()).update(**_values(self.rng, is_new=False))

    def update_blindly(self):
        return Thing(**_key(self.rng)).update(**_values(self.rng, 1, is_new=False))

    def update_by_operations(self):
        return Thing.objects(**_key(self.rng)).update(**_operations(self.rng))

    def update_many(self):
        return Thing.objects(**_key(self.rng)).update(**_values(self.rng, 1, is_new=False))

    def delete(self):
        return self.pick().delete()

    def delete_rows(self):
        return Thing.objects(p=self.rng.choice(KEYS)).delete()

    def delete_row(self):
        return Thing.objects(**_key(self.rng)).delete()

    def deferred(self):
        instance = Thing.objects(**_key(self.rng)).defer(["a", "s"]).first()
        return None if instance is None else _change(self.rng, instance).save() is instance

    def only(self):
        instance = Thing.objects(**_key(self.rng)).only(["p", "c", "t"]).first()
        return None if instance is None else _change(self.rng, instance).save() is instance

    def conditional(self):
        # Use an instance that is not in `held`, because drivers leave an instance in different
        # states if a condition fails.
        instance = Thing.get(**_key(self.rng))
        return instance.iff(n=self.rng.choice([9, 10])).update(t="iff") is instance

    def if_not_exists(self):
        return self.keep(Thing.if_not_exists().create(**_key(self.rng), **_values(self.rng)))

    def if_exists(self):
        return (
            Thing.objects(**_key(self.rng)).if_exists().update(**_values(self.rng, 1, is_new=False))
        )

    def attribute(self):
        instance = self.pick()
        del instance.a
        return instance.save()

    def changed(self):
        return sorted(_change(self.rng, self.pick()).get_changed_columns())

    def as_dict(self):
        return self.pick()

    def batch(self):
        with BatchQuery() as batch:
            for _ in range(self.rng.randint(1, 3)):
                self.in_batch(batch)

    def in_batch(self, batch):
        """Add a random write to a batch.

        Each way of writing has its own partition: 7, 8 or 9. "update" and "delete" both update an
        instance. Removing "delete" from the list would change the program of each seed.
        """
        kind = self.rng.choice(["create", "save", "update", "delete", "rows"])
        if kind == "create":
            Thing.batch(batch).create(p=7, c=self.unique(), **_values(self.rng))
        elif kind == "rows":
            key = {"p": 9, "c": self.unique()}
            values = _values(self.rng, least_count=1, is_new=False)
            Thing.objects(**key).batch(batch).update(**values)
        else:
            instance = Thing(p=8, c=self.unique(), a=1).batch(batch)
            _change(self.rng, instance)
            instance.save() if kind == "save" else instance.update(t="in batch")

    def in_keyspace(self, keyspace):
        with ContextQuery(Thing, keyspace=keyspace) as Other:
            return Other.create(**_key(self.rng), **_values(self.rng))


# Actions that need an instance in `held`.
NEED_ONE = (
    "change_and_save", "update", "change_and_update", "delete", "attribute", "changed", "as_dict",
)  # fmt: skip


def actions(context, seed):
    """Call random methods of the mapper, and record the instances at the end."""
    _set_up_table(context)
    rng = random.Random(seed)
    actor = _Actions(rng)
    names = sorted(
        name
        for name in vars(_Actions)
        if name[0] != "_" and name not in ("keep", "pick", "in_batch", "in_keyspace", "unique")
    )
    context.record_call("first", actor.create)
    for step in range(12):
        name = rng.choice(names)
        if name in NEED_ONE and not actor.held:
            continue
        state = rng.getstate()
        context.record_call(f"{step} {name}", getattr(actor, name))
        # An action that raises may have drawn fewer random numbers with one driver than with
        # another. Reset the generator, so that later choices are the same for all drivers. Then
        # draw one number, so that the next step does not draw the same numbers as this step.
        rng.setstate(state)
        rng.random()
    for index, held in enumerate(actor.held):
        context.record(f"held {index}", held)


def readings(context, seed):
    """Read rows with random filters and options."""
    _set_up_table(context)
    rng = random.Random(seed)
    for p in KEYS:
        for c in range(4):
            Thing.create(p=p, c=c, **_values(rng, 2))
    for step in range(10):
        q = Thing.objects
        steps = []
        for _ in range(rng.randint(1, 4)):
            kind = rng.choice(
                [
                    "p",
                    "p_in",
                    "c",
                    "c_in",
                    "range",
                    "limit",
                    "order",
                    "only",
                    "defer",
                    "filtering",
                    "a",
                ]
            )
            steps.append(kind)
            try:
                q = _narrowed(rng, q, kind)
            except Exception as error:
                context.record(f"{step} {steps}", error)
                break
        else:
            context.record_call(f"{step} {steps}", lambda q=q: list(q))
            context.record_call(f"{step} {steps} count", lambda q=q: q.all().count())
            context.record_call(f"{step} {steps} first", lambda q=q: q.all().first())
            context.record_call(f"{step} {steps} slice", lambda q=q: list(q.all()[1:3]))
            if not {"only", "defer"} & set(steps):
                context.record_call(
                    f"{step} {steps} list", lambda q=q: list(q.values_list("p", "t"))
                )


def _narrowed(rng, q, kind):
    """Return the queryset `q` with one more filter or option.

    :param rng: the random number generator.
    :param kind: the name of the filter or option.
    """
    if kind == "p":
        return q.filter(p=rng.choice(KEYS))
    if kind == "p_in":
        return q.filter(p__in=[1, 3])
    if kind == "c":
        return q.filter(Thing.c == 2)
    if kind == "c_in":
        return q.filter(c__in=[0, 2])
    if kind == "range":
        return q.filter(c__gt=0, c__lte=2)
    if kind == "limit":
        return q.limit(rng.choice([1, 2, 100, None]))
    if kind == "order":
        return q.order_by(rng.choice(["c", "-c"]))
    if kind == "only":
        return q.only(rng.sample(["p", "c", "a", "t", "s", "r"], 3))
    if kind == "defer":
        return q.defer(rng.sample(["a", "t", "s", "r"], 2))
    if kind == "filtering":
        return q.allow_filtering()
    return q.filter(a=5)


def in_batches(context, seed):
    """Execute random writes in batches."""
    _set_up_table(context)
    rng = random.Random(seed)
    actor = _Actions(rng)
    actor.create()
    batch_settings = {
        "plain": {},
        "unlogged": {"batch_type": "UNLOGGED"},
        "stamped": {"timestamp": datetime.datetime(2100, 1, 1)},
        "level": {"consistency": 1},
    }
    for step in range(3):
        name = rng.choice(sorted(batch_settings))
        batch = BatchQuery(**batch_settings[name])
        for action in range(rng.randint(1, 4)):
            context.record_call(f"{step} {name} {action}", actor.in_batch, batch)
        if rng.random() < 0.8:
            context.record_call(f"{step} execute", batch.execute)
        context.record(f"{step} count", Thing.objects.count())
