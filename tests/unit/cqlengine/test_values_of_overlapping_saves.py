"""Test saves of an instance that begin before an earlier save has got its response.

Random programs change an instance and save it. A fake table executes the statements in any order.
After one more save, the row must have the values of the instance.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from cassandra.cqlengine import columns, models, values as states
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery, dml
from cassandra.cqlengine.running import Operation

# One assignment of an UPDATE. The groups are the column, the key in brackets for one element of a
# map, the bound value of a prepended list, and the sign of an addition or removal.
ASSIGNMENT = re.compile(r'"(\w+)"(\[\?\])? = (\? \+ )?(?:"\w+")?( [+-] )?')


# A model with a collection of each kind.
class Item(Model):
    __keyspace__ = "ks"
    id = columns.Integer(primary_key=True)
    name = columns.Text()
    size = columns.Integer(default=5)
    tags = columns.Set(columns.Integer)
    steps = columns.List(columns.Integer)
    marks = columns.Map(columns.Integer, columns.Integer)


# A model with counters, whose updates add a difference.
class Visits(Model):
    __keyspace__ = "ks"
    id = columns.Integer(primary_key=True)
    pages = columns.Counter()
    files = columns.Counter()


# The files of the mapper that are interrupted by another thread, which may begin at any line.
INTERRUPTED_FILES = {module.__file__ for module in (dml, models, states)}
# The columns with a collection, and the classes of their values.
COLLECTIONS: dict[str, type[Any]] = {"tags": set, "steps": list, "marks": dict}


class Table:
    """A fake table with one row, which executes the inserts and updates of the mapper."""

    def __init__(self) -> None:
        self.row: dict[str, Any] = {}

    def execute(self, text: str, bound: list[Any]) -> None:
        """Execute one statement.

        :param text: the statement's CQL.
        :param bound: the statement's values, which may be changed later.
        """
        values = iter(bound)
        if text.startswith("INSERT"):
            # An INSERT replaces the values of its columns.
            for name in re.findall(r'"(\w+)"', text):
                self.assign(name, next(values))
            return
        # An UPDATE changes its columns one after the other.
        assignments = text.partition(" SET ")[2].partition(" WHERE ")[0]
        for change in assignments.split(', "'):
            match = ASSIGNMENT.match('"' + change.removeprefix('"'))
            assert match is not None, change
            name, has_key, is_prepended, sign = match.groups()
            if has_key:
                # Set or remove one element of a map.
                key, value = next(values), next(values)
                elements = dict(self.row.get(name) or {})
                elements[key] = value
                self.assign(name, {k: v for k, v in elements.items() if v is not None})
                continue
            value = next(values)
            # Otherwise, prepend or append to a list, add or remove elements of a set, change a
            # counter, or assign the value.
            old = self.row.get(name)
            if is_prepended:
                value = [*value, *(old or ())]
            elif sign == " + " and isinstance(value, list):
                value = [*(old or ()), *value]
            elif sign == " + ":
                value = (old or 0) + value if isinstance(value, int) else {*(old or ()), *value}
            elif sign == " - " and isinstance(value, int):
                value = (old or 0) - value
            elif sign == " - ":
                value = set(old or ()) - set(value)
            self.assign(name, value)

    def assign(self, name: str, value: Any) -> None:
        """Set one column to a copy of the value."""
        make = COLLECTIONS.get(name)
        self.row[name] = value if make is None or value is None else make(value)


def state_of(instance: Model) -> dict[str, Any]:
    """Return the values of an instance in the form in which `Table` stores them."""
    return {
        name: make(value) or None if (make := COLLECTIONS.get(name)) else value
        for name, value in instance.items()
    }


def change(instance: Model, chance: random.Random, kinds: int) -> None:
    """Change one value of an instance at random.

    :param kinds: how many kinds of changes are possible.
    """
    number = chance.randrange(4)
    if isinstance(instance, Visits):
        setattr(instance, chance.choice(["pages", "files"]), number)
        return
    item: Any = instance
    # The kinds 0 and 1 assign a value, the kinds 2 to 7 change a collection in place, and the last
    # kind assigns an empty collection.
    kind = chance.randrange(kinds)
    if kind == 0:
        item.name = chance.choice([None, "x", "y"])
    elif kind == 1:
        item.size = number
    elif kind == 2:
        item.tags.add(number)
    elif kind == 3:
        item.tags.discard(number)
    elif kind == 4:
        item.steps.append(number)
    elif kind == 5:
        del item.steps[:number]
    elif kind == 6:
        item.marks[number] = chance.randrange(3)
    elif kind == 7:
        item.marks.pop(number, None)
    else:
        name = chance.choice(list(COLLECTIONS))
        item[name] = COLLECTIONS[name]()


class Program:
    """A random program that saves one instance, several times at once.

    :param model: the model of the instance.
    :param seed: the seed of the random numbers.
    :param is_read: True if the row was read, False for a new instance.
    :param failures: "" for no failures; "refused" if some writes are refused; "lost" if the
        responses of some writes are lost, which the table may have executed or not.
    """

    def __init__(self, model: type[Any], seed: int, is_read: bool, failures: str) -> None:
        self.chance = random.Random(seed)
        self.failures = failures
        self.table = Table()
        # the writes in flight: (operation, request, True if the table has executed it)
        self.in_flight: list[tuple[Operation[Any], Any, bool]] = []
        self.instance = model(id=1)
        if is_read:
            self.change()
            self.save()
            while self.in_flight:
                self.respond(may_fail=False)

    def change(self) -> None:
        """Change one value of the instance."""
        change(self.instance, self.chance, 9)

    def save(self, in_batch: bool = False) -> None:
        """Begin to save the instance.

        :param in_batch: True to save the instance twice in a batch, with a change between the two
            saves.
        """
        operation: Operation[Any] = dml.save(self.instance)
        if in_batch:
            batch = BatchQuery()
            self.instance.batch(batch).save()
            self.change()
            self.instance.save()
            operation = batch._operation()
        request = next(operation, None)
        if request is not None:
            self.in_flight.append((operation, request, False))

    def execute(self, number: int) -> None:
        """Let the table execute a request, if the table has not executed it yet."""
        operation, request, is_executed = self.in_flight[number]
        if not is_executed:
            entries = getattr(request, "entries", None) or [(request.text, request.values)]
            for text, values in entries:
                self.table.execute(text, values)
            self.in_flight[number] = (operation, request, True)

    def respond(self, may_fail: bool = True) -> None:
        """Let the response of one of the writes arrive.

        :param may_fail: True if the response may be an error.
        """
        number = self.chance.randrange(len(self.in_flight))
        operation, _, is_executed = self.in_flight[number]
        has_failed = self.failures == "lost" or (self.failures == "refused" and not is_executed)
        if may_fail and has_failed and self.chance.random() < 0.3:
            del self.in_flight[number]
            with pytest.raises(OSError, match="lost"):
                operation.throw(OSError("lost"))
            return
        self.execute(number)
        del self.in_flight[number]
        with pytest.raises(StopIteration):
            operation.send(None)

    def run(self) -> None:
        """Change and save the instance at random, and then save it once more alone."""
        for _ in range(self.chance.randrange(4, 14)):
            step = self.chance.randrange(5)
            if step < 2:
                self.change()
            elif step == 2:
                self.save(in_batch=self.chance.random() < 0.3)
            elif self.in_flight:
                if step == 3:
                    self.execute(self.chance.randrange(len(self.in_flight)))
                else:
                    self.respond()
        while self.in_flight:
            self.respond()
        self.save()
        if self.in_flight:
            self.respond(may_fail=False)


@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize(
    ("model", "failures"),
    [(Item, ""), (Item, "refused"), (Item, "lost"), (Visits, ""), (Visits, "refused")],
)
def test_the_last_save_makes_the_row_equal(model: type[Any], is_read: bool, failures: str) -> None:
    """After overlapping saves and one last save, the row equals the instance."""
    different = {}
    for seed in range(200):
        program = Program(model, seed, is_read, failures)
        program.run()
        instance = state_of(program.instance)
        row = {name: program.table.row.get(name) for name in instance}
        if model is Visits:
            row = {name: value or 0 for name, value in row.items()}
        row["id"] = 1
        if row != instance:
            different[seed] = (row, instance)
        # Nothing is left to be written.
        assert program.instance.get_changed_columns() == []
    assert different == {}


class Interruption:
    """Lets another thread run in the middle of a call, without using threads.

    The function of the other thread is called at one line of the mapper's code.

    :param function: what the other thread does.
    :param line: how many lines run before the function.
    :param waits: True if the function waits for the lock of the writes.
    """

    def __init__(self, function: Callable[[], None], line: int, waits: bool = True) -> None:
        self.function = function
        self.lines_left = line
        self.waits = waits
        self.is_over = False

    def _is_locked(self) -> bool:
        # A thread that waits for the lock does not run.
        return self.waits and states._lock._is_owned()  # type: ignore[attr-defined]

    def _trace(self, frame: FrameType, event: str, argument: object) -> Any:
        """Count the lines that the mapper runs, and call the function once at the chosen line.

        Python calls this method for each line, see `sys.settrace`.
        """
        if frame.f_code.co_filename not in INTERRUPTED_FILES:
            return None
        if event != "return" and not self.is_over and not self._is_locked():
            self.lines_left -= 1
            if self.lines_left < 0:
                self.is_over = True
                self.function()
        return self._trace

    def during(self, call: Callable[[], Any]) -> Any:
        """Make a call with the interruption, and return its result."""
        previous = sys.gettrace()
        sys.settrace(self._trace)
        try:
            return call()
        finally:
            sys.settrace(previous)


def rows_of_two_threads(line: int, order: str, is_read: bool) -> tuple[Any, Any] | None:
    """Save an instance while another thread changes and saves it.

    Save it once more at the end.

    :param line: the line of the first save at which the other thread begins.
    :param order: the order in which the server executes the writes "a" and "b", and in which their
        responses arrive.
    :param is_read: True if the row was read, False for a new instance.
    :returns: the row and the values of the instance; None if the save has no such line.
    """
    table = Table()
    instance = Item(id=1, name="x", tags={1})
    if is_read:
        table.row = {"id": 1, "name": "x", "size": 5, "tags": {1}}
        instance._row = (1, "x", 5, {1}, None, None)
        instance.name = "z"
        instance.tags.add(2)
    first = dml.save(instance)
    second: list[Any] = []

    # The other thread assigns other values, and begins another save.
    def other_thread() -> None:
        instance.name = "y"
        instance.tags = {7}
        instance.marks = {1: 1}
        operation = dml.save(instance)
        second.extend((operation, next(operation, None)))

    # Begin the first save, and let the other thread run at the given line.
    interruption = Interruption(other_thread, line)
    writes = {"a": (first, interruption.during(lambda: next(first, None)))}
    if not interruption.is_over:
        return None
    writes["b"] = (second[0], second[1])
    # Execute the writes in the given order, and then deliver their responses.
    for name in order[:2]:
        if writes[name][1] is not None:
            table.execute(writes[name][1].text, writes[name][1].values)
    for name in order[2:]:
        if writes[name][1] is not None:
            with pytest.raises(StopIteration):
                writes[name][0].send(None)
    # The last save must write whatever the earlier saves have not written.
    last = dml.save(instance)
    request = next(last, None)
    if request is not None:
        table.execute(request.text, list(request.values))
        with pytest.raises(StopIteration):
            last.send(None)
    values_of_instance = state_of(instance)
    row = {name: table.row.get(name) for name in values_of_instance}
    row["id"] = 1
    return row, values_of_instance


@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize("order", ["abab", "abba", "baab", "baba"])
def test_threads_that_begin_the_first_save_together(order: str, is_read: bool) -> None:
    """Another thread may save at each line of a first save: at the end, row and instance agree."""
    lines = 0
    for line in range(1000):
        outcome = rows_of_two_threads(line, order, is_read)
        # The save has no such line: the other thread has begun at each line.
        if outcome is None:
            break
        row, values_of_instance = outcome
        assert row == values_of_instance, line
        lines += 1
    # The other thread must have run at many lines. If `lines` were 1000, the save would not have
    # been tested to its end.
    assert 20 < lines < 1000


@pytest.mark.parametrize("is_read", [False, True])
def test_values_that_a_thread_sets_when_a_save_ends(is_read: bool) -> None:
    """A value that another thread sets while a save ends counts as changed."""
    lines = 0
    for line in range(1000):
        instance = Item(id=1, name="x")
        if is_read:
            instance._row = (1, "x", 5, None, None, None)
            instance.name = "z"
        save = dml.save(instance)
        assert next(save) is not None

        def other_thread(item: Any = instance) -> None:
            item.name = "y"

        interruption = Interruption(other_thread, line, waits=False)

        def end(operation: Operation[Any] = save) -> None:
            with pytest.raises(StopIteration):
                operation.send(None)

        interruption.during(end)
        # The end of the save has no such line: the other thread has begun at each line.
        if not interruption.is_over:
            break
        assert instance.get_changed_columns() == ["name"], line
        lines += 1
    # The other thread must have run at several lines, up to the last line of the save.
    assert 10 < lines < 1000
