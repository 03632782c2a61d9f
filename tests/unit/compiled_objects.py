"""A program for a child process that copies objects of every compiled class.

It also creates objects without ``__init__``. Each class is checked in a further child process, so
that the class that crashed a process is known. Any error is allowed, but a copy or pickle must
either be correct or raise a TypeError that names the class. The program prints a line of JSON for
each class: its name, the exit status of the child, and the complaints.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import faulthandler
import functools
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
from tests.unit.abuse import BAD, drained, object_of, objects_and_calls

# These are the errors that the classes may raise when they are misused.
ERRORS = (Exception, asyncio.CancelledError)
# This is the message of Python for classes with slots that pickle does not support.
NO_OLD_PICKLES = "a class that defines __slots__ without"
# A child may take this number of seconds.
LONGEST = 60
# This is the number of sampled combinations for each number of arguments.
SAMPLES = 60
# This is the maximum number of arguments that are objects of other classes.
OTHERS = 1000
# These methods block, and are called only with a timeout of 0.
WAITING = {("Event", "wait")}
# These special methods are also called by their names, with wrong arguments.
SPECIAL = (
    "__len__", "__iter__", "__next__", "__repr__", "__str__", "__hash__", "__bool__", "__await__",
    "__del__", "__reduce__", "__sizeof__",
)  # fmt: skip
# These are the ways to copy an object, each with its name.
COPIES: list[tuple[str, Callable[[Any], Any]]] = [
    ("copy", copy.copy),
    ("deepcopy", copy.deepcopy),
    *(
        (
            f"pickle {protocol}",
            lambda thing, protocol=protocol: pickle.loads(pickle.dumps(thing, protocol)),
        )
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    ),
]


@functools.cache
def classes() -> list[type[Any]]:
    """Return all classes of all compiled modules, including those that no module exports."""
    for name in _impl.TWINS:
        importlib.import_module(f"cassandra._accel.{name}")
    seen_classes: set[type[Any]] = set()
    unvisited: list[type[Any]] = [object]
    while unvisited:
        for cls in type.__subclasses__(unvisited.pop()):
            if cls not in seen_classes:
                seen_classes.add(cls)
                unvisited.append(cls)
    # Leave out subclasses of tuple, because they contain nothing but their elements.
    compiled_classes = [
        cls
        for cls in seen_classes
        if str(cls.__module__).startswith("cassandra._accel.") and not issubclass(cls, tuple)
    ]
    return sorted(compiled_classes, key=name_of)


def name_of(kind: type[Any]) -> str:
    """Return the name of a class with its module, but without the package."""
    return f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}"


def uninitialised(kind: type[Any]) -> Iterator[Any]:
    """Yield objects of a class that only `__new__` has created, without and with arguments."""
    with contextlib.suppress(*ERRORS):
        yield object_of(kind)
    for arguments in ((1, 1), ((),), ((object_of_chunk(),),), (1 << 62, 1 << 62), (-1, -1)):
        with contextlib.suppress(*ERRORS):
            yield kind.__new__(kind, *arguments)


def object_of_chunk() -> Any:
    """Return a small `Chunk` of tablets, whose memory is not initialised.

    Another compiled class takes a tuple of such objects.
    """
    # Create a chunk without tablets if the class allows that, or else one with a single tablet.
    chunk: Any = next(kind for kind in classes() if name_of(kind) == "tablets.Chunk")
    with contextlib.suppress(*ERRORS):
        return chunk.__new__(chunk, 0, 0)
    return chunk.__new__(chunk, 1, 1)


def arguments(others: list[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield tuples of bad arguments.

    These are the empty tuple, each value alone, and SAMPLES random combinations of each length from
    2 to 7. The values are those of BAD and `others`.
    """
    rng = random.Random(1)
    values = [*BAD, *others]
    yield ()
    yield from ((value,) for value in values)
    for count in range(2, 8):
        for _ in range(SAMPLES):
            yield tuple(rng.choices(values, k=count))


def call_special_methods(target: Any) -> None:
    """Call all special methods that Python may call on an object."""
    for operation in (
        repr, str, hash, len, bool, iter, next, list, bytes, memoryview, dir, sys.getsizeof,
        lambda item: memoryview(item).tobytes(), lambda item: item == item,
        lambda item: item != object(), lambda item: item == object_of(type(item)),
        lambda item: item < item, lambda item: item[0], lambda item: item["a"],
        lambda item: 1 in item, lambda item: item(), lambda item: item + item,
        lambda item: item.__await__().__next__(), lambda item: item.__iter__().__next__(),
        lambda item: item.send(None),
    ):  # fmt: skip
        with contextlib.suppress(*ERRORS):
            drained(operation(target))


def use_objects(kind: type[Any], make_object: Callable[[], Any], others: list[Any]) -> None:
    """Use objects that `make_object` creates in every way.

    Their special methods are called, their attributes are read, set and deleted, and their methods
    are called with bad arguments.
    """
    target = make_object()
    call_special_methods(target)
    for name in dir(kind):
        # `call_special_methods` calls other special methods.
        if name.startswith("__") and name not in SPECIAL and name != "__init__":
            continue
        with contextlib.suppress(*ERRORS):
            drained(getattr(make_object(), name))
        # For an attribute, assign each bad value, and then delete it.
        if not callable(getattr(kind, name, None)):
            for value in BAD:
                with contextlib.suppress(*ERRORS):
                    setattr(target, name, value)
            with contextlib.suppress(*ERRORS):
                delattr(target, name)
            call_special_methods(target)
            continue
        # Methods that wait get a timeout of 0.
        if (kind.__name__, name) in WAITING:
            with contextlib.suppress(*ERRORS):
                getattr(target, name)(0)
            continue
        # Other methods get all arguments.
        for values in arguments(others):
            with contextlib.suppress(*ERRORS):
                drained(getattr(target, name)(*values))
            if name == "__init__":
                call_special_methods(target)
                target = make_object()


def copy_complaints(kind: type[Any], original: Any, others: list[Any]) -> Iterator[str]:
    """Copy and pickle `original` in every way, and yield complaints.

    There is a complaint if the copy has another type, or if the error does not name the class.
    """
    for way_of_copying, duplicate_object in COPIES:
        try:
            duplicate = duplicate_object(original)
        except TypeError as error:
            if NO_OLD_PICKLES in str(error):
                continue
            if type(original).__name__ not in str(error) and kind.__name__ not in str(error):
                yield f"{way_of_copying}: the error does not name the class: {error}"
        except Exception as error:
            yield f"{way_of_copying}: {type(error).__name__}: {error}"
        else:
            if type(duplicate) is not type(original):
                yield f"{way_of_copying}: gives {duplicate!r}"
            else:
                # A few of the arguments are enough here, because the original is used with all of
                # them.
                use_objects(kind, lambda duplicate=duplicate: duplicate, others[:4])  # type: ignore[misc]


class Sub:
    """Placeholder that `subclass` replaces, so that pickle finds the subclass by its name."""


def subclass(kind: type[Any]) -> type[Any] | None:
    """Return a subclass of `kind` like an application may have, or None if `kind` is final."""
    with contextlib.suppress(TypeError):
        sub = type("Sub", (kind,), {"__module__": __name__})
        globals()["Sub"] = sub
        return sub
    return None


def samples() -> list[Any]:
    """Return objects in the form in which the library creates them, even of internal classes."""
    names, codecs = ["a", "b"], [_impl.codecs.int32(), _impl.codecs.text()]
    layouts = [layout_of(t.Int32Type), layout_of(t.UTF8Type)]
    page = bytes.fromhex("00000004000000070000000178")
    plan = _impl.column_buffers.ColumnPlan(names, codecs, layouts)
    columns = plan.read(page, 0, 1)
    plans: Any = _impl.plans
    reader = _impl.frame.FrameReader(4)
    reader.feed(b"\x84\0\0\1\x08\0\1\0\0")
    return [
        *(make() for make, _ in objects_and_calls()),
        *codecs,
        *(buffer for column in columns.children for buffer in column.buffers if buffer is not None),
        reader.get_buffer(-1).obj,
        _impl.rows.RowPlan(names, codecs).iterate(page, 0, 1),
        plans.replica_plan(["x"], None, None, None),
        plans.rotated([["x"]], 0),
        _impl.clock.MicrosecondClock(1000, print),
        t.Int32Type.__dict__.get("_calls"),
    ]


def check_class(kind: type[Any]) -> list[str]:
    """Use objects of the class `kind` and copies of them, and return complaints about copies."""
    complaints: list[str] = []
    other_objects = [
        instance
        for other_class in classes()
        for instance in itertools.islice(uninitialised(other_class), 1)
    ]
    random.Random(2).shuffle(other_objects)
    del other_objects[OTHERS:]
    objects = [*uninitialised(kind), *(sample for sample in samples() if type(sample) is kind)]
    subclass_of_kind = subclass(kind)
    if subclass_of_kind is not None:
        with contextlib.suppress(*ERRORS):
            objects.append(object_of(subclass_of_kind))
    for instance in objects:
        complaints += copy_complaints(kind, instance, other_objects)
    with contextlib.suppress(*ERRORS):
        object_of(kind)
        use_objects(kind, lambda: object_of(kind), other_objects)
    for instance in objects:
        use_objects(kind, lambda instance=instance: instance, other_objects)  # type: ignore[misc]
    return complaints


def in_a_child(kind: type[Any]) -> tuple[int, str]:
    """Check `kind` in a child process, and return its exit status and output.

    The status is 0 without complaints and 3 with complaints. It is negative if a signal ended the
    child, for example SIGALRM after LONGEST seconds.
    """
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            os.dup2(output.fileno(), 2)
            faulthandler.enable(output.fileno())
            signal.alarm(LONGEST)
            status = 1
            try:
                complaints = check_class(kind)
                os.write(2, "\n".join(complaints).encode())
                status = 3 if complaints else 0
            except BaseException:
                os.write(2, traceback.format_exc().encode())
            finally:
                os._exit(status)
        _, state = os.waitpid(child, 0)
        output.seek(0)
        return os.waitstatus_to_exitcode(state), output.read().decode(errors="replace")


def main() -> None:
    """Check the classes named in the arguments, or every compiled class without arguments."""
    assert _impl.implementation == "c"
    for kind in classes():
        if name_of(kind) in sys.argv[1:] or not sys.argv[1:]:
            status, output = in_a_child(kind)
            print(json.dumps([name_of(kind), status, output[-3000:]]), flush=True)


if __name__ == "__main__":
    main()
