"""A program for a process of its own: every class of the compiled modules, found by looking for
them, in the hands of a caller that copies its objects and makes them without ``__init__``.

Each class has a child process, so that one that dies says which class it was. Errors are welcome,
whatever they are; but a copy or pickle is either good or a TypeError that names the class. It prints
a line of JSON for each class: its name, how the child ended, and what it complained about.
"""  # noqa: E501

from __future__ import annotations

import asyncio
import contextlib
import copy
import faulthandler
import importlib
import itertools
import json
import os
import pickle
import random
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import cassandra.cluster  # noqa: F401  (the compiled modules import parts of it)
from cassandra import _impl, cqltypes as t
from cassandra.protocol.columnar.layouts import layout_of
from tests.unit.abuse import BAD, drained, healthy, object_of

ERRORS = (Exception, asyncio.CancelledError)
# Python's own words, of classes that pickle leaves to their slots.
NO_OLD_PICKLES = "a class that defines __slots__ without"
LONGEST = 60  # seconds that a child may take
SAMPLES = 60  # of the combinations of arguments, for each number of them
# They wait, if they are asked to.
WAITING = {("Event", "wait")}
SPECIAL = (
    "__len__", "__iter__", "__next__", "__repr__", "__str__", "__hash__", "__bool__", "__await__",
    "__del__", "__reduce__", "__sizeof__",
)  # fmt: skip
COPIES: list[tuple[str, Callable[[Any], Any]]] = [
    ("copy", copy.copy),
    ("deepcopy", copy.deepcopy),
    *(
        (f"pickle {one}", lambda thing, one=one: pickle.loads(pickle.dumps(thing, one)))
        for one in range(pickle.HIGHEST_PROTOCOL + 1)
    ),
]


def classes() -> list[type[Any]]:
    """All classes of all compiled modules, those that no module shows as well."""
    for name in _impl.TWINS:
        importlib.import_module(f"cassandra._accel.{name}")
    found: set[type[Any]] = set()
    left: list[type[Any]] = [object]
    while left:
        for kind in type.__subclasses__(left.pop()):
            if kind not in found:
                found.add(kind)
                left.append(kind)
    # A tuple is what its elements are: those of these tests are no rows.
    ours = [
        kind
        for kind in found
        if str(kind.__module__).startswith("cassandra._accel.") and not issubclass(kind, tuple)
    ]
    return sorted(ours, key=name_of)


def name_of(kind: type[Any]) -> str:
    return f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}"


def empty(kind: type[Any]) -> Iterator[Any]:
    """Objects of a class that were never initialised."""
    with contextlib.suppress(*ERRORS):
        yield object_of(kind)
    for arguments in ((1, 1), ((),), ((object_of_chunk(),),), (1 << 62, 1 << 62), (-1, -1)):
        with contextlib.suppress(*ERRORS):
            yield kind.__new__(kind, *arguments)


def object_of_chunk() -> Any:
    chunk: Any = next(kind for kind in classes() if name_of(kind) == "tablets.Chunk")
    with contextlib.suppress(*ERRORS):
        return chunk.__new__(chunk, 0, 0)
    return chunk.__new__(chunk, 1, 1)


def arguments(others: list[Any]) -> Iterator[tuple[Any, ...]]:
    """Odd arguments of every number."""
    draw = random.Random(1)
    values = [*BAD, *others]
    yield ()
    yield from ((value,) for value in values)
    for count in range(2, 8):
        for _ in range(SAMPLES):
            yield tuple(draw.choices(values, k=count))


def looked_at(thing: Any) -> None:
    """All that Python itself may ask of an object."""
    for ask in (
        repr, str, hash, len, bool, iter, next, list, bytes, memoryview, dir, sys.getsizeof,
        lambda one: memoryview(one).tobytes(), lambda one: one == one, lambda one: one != object(),
        lambda one: one == object_of(type(one)), lambda one: one < one, lambda one: one[0],
        lambda one: one["a"], lambda one: 1 in one, lambda one: one(), lambda one: one + one,
        lambda one: one.__await__().__next__(), lambda one: one.__iter__().__next__(),
        lambda one: one.send(None),
    ):  # fmt: skip
        with contextlib.suppress(*ERRORS):
            drained(ask(thing))


def used(kind: type[Any], make: Callable[[], Any], others: list[Any]) -> None:
    """Everything of new objects: what they show, their attributes, and their methods."""
    thing = make()
    looked_at(thing)
    for name in dir(kind):
        if name.startswith("__") and name not in SPECIAL and name != "__init__":
            continue
        with contextlib.suppress(*ERRORS):
            drained(getattr(make(), name))
        if not callable(getattr(kind, name, None)):
            for value in BAD:
                with contextlib.suppress(*ERRORS):
                    setattr(thing, name, value)
            with contextlib.suppress(*ERRORS):
                delattr(thing, name)
            looked_at(thing)
            continue
        if (kind.__name__, name) in WAITING:
            with contextlib.suppress(*ERRORS):
                getattr(thing, name)(0)
            continue
        for given in arguments(others):
            with contextlib.suppress(*ERRORS):
                drained(getattr(thing, name)(*given))
            if name == "__init__":
                looked_at(thing)
                thing = make()


def copied(kind: type[Any], thing: Any, others: list[Any]) -> Iterator[str]:
    """Complaints about the copies and pickles of `thing`."""
    for way, make in COPIES:
        try:
            made = make(thing)
        except TypeError as error:
            if NO_OLD_PICKLES in str(error):
                continue
            if type(thing).__name__ not in str(error) and kind.__name__ not in str(error):
                yield f"{way}: the error does not name the class: {error}"
        except Exception as error:
            yield f"{way}: {type(error).__name__}: {error}"
        else:
            if type(made) is not type(thing):
                yield f"{way}: gives {made!r}"
            else:
                used(kind, lambda made=made: made, others[:4])  # type: ignore[misc]


class Sub:
    """Stands for a subclass of a program's; see `subclass`."""


def subclass(kind: type[Any]) -> type[Any] | None:
    """A class of a program's; None if the class has no subclasses."""
    with contextlib.suppress(TypeError):
        made = type("Sub", (kind,), {"__module__": __name__})
        globals()["Sub"] = made
        return made
    return None


def samples() -> list[Any]:
    """Objects as the library makes them, of classes that programs never see too."""
    names, codecs = ["a", "b"], [_impl.codecs.int32(), _impl.codecs.text()]
    layouts = [layout_of(t.Int32Type), layout_of(t.UTF8Type)]
    page = bytes.fromhex("00000004000000070000000178")
    plan = _impl.column_buffers.ColumnPlan(names, codecs, layouts)
    columns = plan.read(page, 0, 1)
    plans: Any = _impl.plans
    reader = _impl.frame.FrameReader(4)
    reader.feed(b"\x84\0\0\1\x08\0\1\0\0")
    return [
        *(make() for make, _ in healthy()),
        *codecs,
        *(buffer for column in columns.children for buffer in column.buffers if buffer is not None),
        reader.get_buffer(-1).obj,
        _impl.rows.RowPlan(names, codecs).iterate(page, 0, 1),
        plans.replica_plan(["x"], None, None, None),
        plans.rotated([["x"]], 0),
        _impl.clock.MicrosecondClock(1000, print),
        t.Int32Type.__dict__.get("_calls"),
    ]


def child(kind: type[Any]) -> list[str]:
    """What there is to complain about `kind`, if the process lives so long."""
    complaints: list[str] = []
    others = [thing for other in classes() for thing in itertools.islice(empty(other), 1)]
    random.Random(2).shuffle(others)
    made = [*empty(kind), *(one for one in samples() if type(one) is kind)]
    own = subclass(kind)
    if own is not None:
        with contextlib.suppress(*ERRORS):
            made.append(object_of(own))
    for thing in made:
        complaints += copied(kind, thing, others)
    with contextlib.suppress(*ERRORS):
        object_of(kind)
        used(kind, lambda: object_of(kind), others)
    for thing in made:
        used(kind, lambda thing=thing: thing, others)  # type: ignore[misc]
    return complaints


def in_a_child(kind: type[Any]) -> tuple[int, str]:
    """How a process ended that looked at `kind`, and what it wrote."""
    with tempfile.TemporaryFile() as said:
        process = os.fork()
        if process == 0:
            os.dup2(said.fileno(), 2)
            faulthandler.enable(said.fileno())
            signal.alarm(LONGEST)
            status = 1
            try:
                complaints = child(kind)
                os.write(2, "\n".join(complaints).encode())
                status = 3 if complaints else 0
            except BaseException:
                os.write(2, traceback.format_exc().encode())
            finally:
                os._exit(status)
        _, state = os.waitpid(process, 0)
        said.seek(0)
        return os.waitstatus_to_exitcode(state), said.read().decode(errors="replace")


def main() -> None:
    """All classes, or those named in the arguments."""
    assert _impl.implementation == "c"
    for kind in classes():
        if name_of(kind) in sys.argv[1:] or not sys.argv[1:]:
            status, said = in_a_child(kind)
            print(json.dumps([name_of(kind), status, said[-3000:]]), flush=True)


if __name__ == "__main__":
    main()
