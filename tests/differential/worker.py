"""Runs programs with one of the drivers, and reports their outcomes.

This file runs as a script with the interpreter of an environment that contains the driver. It
therefore imports nothing of this project except `cassandra`, which may be any of the drivers.

The script reads orders from standard input, one JSON object per line, and answers each order with
one line. An order has "do": "list" (the programs of a module), "run" (one program) or "finish"
(close what the programs of a module share). A program is a function in
tests/differential/programs/. It is called with a `ProgramContext`, whose methods `record` and
`record_call` record values and errors under labels.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import enum
import importlib
import io
import ipaddress
import json
import math
import os
import re
import runpy
import sys
import threading
import traceback
import types
import uuid
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

HERE = Path(__file__).parent
PUBLIC = (
    "cassandra", "cassandra.cluster", "cassandra.query", "cassandra.policies", "cassandra.util",
    "cassandra.auth", "cassandra.concurrent", "cassandra.connection", "cassandra.encoder",
    "cassandra.metadata", "cassandra.metrics", "cassandra.pool", "cassandra.protocol",
    "cassandra.timestamps", "cassandra.cqltypes", "cassandra.cqlengine",
    "cassandra.cqlengine.columns", "cassandra.cqlengine.connection", "cassandra.cqlengine.models",
    "cassandra.cqlengine.query", "cassandra.cqlengine.usertype", "cassandra.cqlengine.functions",
    "cassandra.cqlengine.operators", "cassandra.cqlengine.statements", "cassandra.cqlengine.named",
    "cassandra.cqlengine.management",
)  # fmt: skip
DEEPEST = 8  # nested collections are compared down to this depth
# Types whose `repr` differs whenever two values differ.
PLAIN = (
    int,
    float,
    bool,
    str,
    bytes,
    type(None),
    decimal.Decimal,
    uuid.UUID,
    datetime.datetime,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    ipaddress.IPv4Address,
    ipaddress.IPv6Address,
    type(...),
)


FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType)


class Names:
    """Finds the public names of the driver's classes and constants.

    Drivers define the same class in different modules, so classes are compared by the names under
    which applications import them.
    """

    def __init__(self) -> None:
        self._name_of: dict[type, str] | None = None
        self._constants: dict[int, tuple[Any, str]] = {}

    def _read(self) -> dict[type, str]:
        """Import the public modules, and return the public name of each class in them."""
        name_of: dict[type, str] = {}
        for module in PUBLIC:
            with contextlib.suppress(ImportError):
                imported = importlib.import_module(module)
                for name in dir(imported):
                    value = getattr(imported, name, None)
                    # Leave out constants of plain types, which are compared by value and not by
                    # name.
                    if name.isupper() and type(value) not in (int, str, dict, list, tuple, bool):
                        self._constants.setdefault(id(value), (value, name))
                    # A class may have several public names; prefer the name in its definition.
                    if isinstance(value, type) and (
                        value not in name_of or name == value.__name__ != name_of[value]
                    ):
                        name_of[value] = name
        return name_of

    def of(self, cls: type) -> str:
        """Return the public name of a class, or of the nearest base class with a public name."""
        if self._name_of is None:
            self._name_of = self._read()
        for base in cls.__mro__:
            module = base.__module__
            if module == "builtins":
                # If no base class except `object` has a public name, use the class's own name.
                return cls.__name__ if base is object else base.__name__
            if not module.startswith("cassandra"):
                return base.__name__ if module in MADE else f"{module}.{base.__name__}"
            if base in self._name_of:
                return self._name_of[base]
        return cls.__name__

    def constant(self, value: object) -> str | None:
        """Return the name of a constant object such as `UNSET_VALUE`."""
        if self._name_of is None:
            self._name_of = self._read()
        _, name = self._constants.get(id(value), (None, None))
        return name

    def bases(self, cls: type) -> list[str]:
        """Return the names of all base classes by which an ``except`` clause can catch an error.

        :param cls: the class of the error.
        """
        names = []
        for base in cls.__mro__:
            is_ours = base.__module__.startswith("cassandra")
            # Leave out classes such as Exception, because they catch nearly every error. Also leave
            # out classes of the driver that have no public name.
            if base in (object, BaseException, Exception) or (
                is_ours and self.of(base) == "object"
            ):
                continue
            name = self.of(base)
            if name not in names and not name.startswith("_"):
                names.append(name)
        return sorted(names) or ["Exception"]


NAMES = Names()
# Classes of these modules belong to programs, or are created at run time, so the names of these
# modules are not compared.
MADE = {"programs", "__main__", "abc"}


def error_text(error: BaseException) -> str:
    """Describe an error by the names of all classes that catch it in an ``except`` clause."""
    return f"error({'|'.join(NAMES.bases(type(error)))})"


def canonical(value: Any, depth: int = 0) -> str:
    """Return a string for a value.

    The strings of two values are equal only if the values are equal and have equal types.

    :param depth: how many collections are around the value.
    """
    cls = type(value)
    if cls in PLAIN:
        return "nan" if cls is float and math.isnan(value) else repr(value)
    if depth > DEEPEST:
        return "..."
    if isinstance(value, BaseException):
        return error_text(value)
    if isinstance(value, type):
        return f"class {NAMES.of(value)}"
    if isinstance(value, FUNCTIONS) or "function_or_method" in cls.__name__:
        return "function"
    if isinstance(value, enum.Enum):
        return f"{NAMES.of(cls)}.{value.name}"
    inner = _collection(value, cls, depth)
    return inner if inner is not None else _object(value, cls)


def _collection(value: Any, cls: type, depth: int) -> str | None:
    """Return the string for a collection, row, model or user type; None for other values.

    Drivers are compared by these strings; see `canonical`.

    :param depth: how many collections are around the value.
    """

    def canonical_items(items: Iterable[Any]) -> list[str]:
        return [canonical(item, depth + 1) for item in items]

    name = "" if cls in (list, tuple, dict, set) else NAMES.of(cls)
    fields = getattr(cls, "_fields", None)
    if isinstance(value, tuple) and isinstance(fields, tuple):
        pairs = zip(fields, canonical_items(value), strict=True)
        return f"{cls.__name__}({', '.join(f'{key}={item}' for key, item in pairs)})"
    if isinstance(value, tuple):
        return f"{name}({', '.join(canonical_items(value))})"
    if isinstance(value, list):
        return f"{name}[{', '.join(canonical_items(value))}]"
    if isinstance(value, (set, frozenset)):
        return f"{name}{{{', '.join(sorted(canonical_items(value)))}}}"
    if isinstance(value, (bytearray, memoryview)):
        return f"{name}({bytes(value)!r})"
    if isinstance(value, Mapping):
        # The order of a mapping is part of its string, so the order is compared, too.
        return f"{name}{{{', '.join(_pairs(value, depth))}}}"
    # The order in which a model lists its fields is not compared, so sort the fields.
    if any(base.__name__ in ("BaseModel", "BaseUserType") for base in cls.__mro__):
        return f"{cls.__name__}{{{', '.join(sorted(_pairs(value, depth)))}}}"
    # `sortedset` is an older name of the class `SortedSet`.
    if name in ("SortedSet", "sortedset"):
        return f"SortedSet[{', '.join(canonical_items(value))}]"
    return None


def _pairs(value: Any, depth: int) -> list[str]:
    """Return "KEY: VALUE" for each item of a mapping, model or user type."""
    return [f"{canonical(key, depth)}: {canonical(item, depth + 1)}" for key, item in value.items()]


def _object(value: Any, cls: type) -> str:
    """Return the string for a value that is not a collection.

    If nothing is known about the value, the string is the name of its class in "<>".
    """
    constant = NAMES.constant(value)
    if constant is not None:
        return constant
    name = NAMES.of(cls)
    if name == "ResultSet":
        # unlike iteration, `current_rows` fetches no pages and consumes no rows
        rows = value.current_rows
        return f"{name}{canonical(rows) if isinstance(rows, list) else ''}"
    base = next((plain for plain in (str, bytes, int, float) if isinstance(value, plain)), None)
    if base is not None:
        return f"{name}({base.__repr__(value)})"
    if name in ("Date", "Time", "Duration", "Point", "LineString", "Polygon", "Version"):
        return f"{name}({value})"
    if name in ("numpy.float32", "numpy.int32", "numpy.int64", "numpy.float64"):
        return f"{name}({value})"
    if name.startswith("numpy."):
        return f"{name}{value.tolist()}"
    return f"<{name}>"


class ProgramContext:
    """The object that a program gets: the node, sessions, and methods that record outcomes."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.host: str = order["host"]
        self.port: int = order["port"]
        self.keyspace: str = order["keyspace"]
        self.shown: list[tuple[str, str]] = []  # (label, string) of each recorded value
        self.has_order = True  # False if the order of requests is not compared
        self._sessions: dict[str, Any] = {}
        self._clusters: list[Any] = []
        self._lock = threading.Lock()

    def record(self, label: object, value: Any) -> Any:
        """Record a value under a label, and return the value."""
        try:
            text = canonical(value)
        except Exception as error:
            text = f"unreadable: {error_text(error)}"
        self._add_text(str(label), text)
        return value

    def record_call(
        self, label: object, call: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Call a function, and record its result or its error under a label.

        :returns: the result, or None after an error.
        """
        try:
            value = call(*args, **kwargs)
        except Exception as error:
            if os.environ.get("DIFFERENTIAL_TRACEBACKS"):
                traceback.print_exc()
            self._add_text(str(label), error_text(error))
            return None
        return self.record(label, value)

    def _add_text(self, label: str, text: str) -> None:
        with self._lock:
            self.shown.append((label, self._clean(text)))

    def _clean(self, text: str) -> str:
        """Replace what always differs between drivers by fixed words.

        These are the keyspace, the port, and the memory addresses of objects.
        """
        text = re.sub(r"(?<= at 0x)[0-9a-f]+", "ADDRESS", text)
        text = re.sub(rf"\b{re.escape(self.keyspace)}", "KS", text)
        return re.sub(rf"\b{self.port}\b", "PORT", text)

    def allow_any_order(self) -> None:
        """Declare that the order of this program's requests must not be compared."""
        self.has_order = False

    def new_cluster(self, *args: Any, **settings: Any) -> Any:
        """Return a new cluster, which is shut down after the program."""
        cluster = importlib.import_module("cassandra.cluster").Cluster(
            *(args or ([self.host],)), **{"port": self.port, **settings}
        )
        self._clusters.append(cluster)
        return cluster

    def new_session(self, **settings: Any) -> Any:
        """Return a session of a new cluster, in the program's keyspace."""
        return self.new_cluster(**settings).connect(self.keyspace)

    @property
    def shared_session(self) -> Any:
        """Return the session that all programs of a module share, in their keyspace."""
        if "shared" not in self._sessions:
            cluster = importlib.import_module("cassandra.cluster").Cluster(
                [self.host], port=self.port
            )
            self._sessions["shared"] = cluster.connect(self.keyspace)
        return self._sessions["shared"]

    def set_up_mapper(self, **settings: Any) -> Any:
        """Set up the mapper for the program's keyspace.

        :returns: the module `cassandra.cqlengine.connection`.
        """
        connection = importlib.import_module("cassandra.cqlengine.connection")
        os.environ["CQLENG_ALLOW_SCHEMA_MANAGEMENT"] = "1"
        connection.setup([self.host], self.keyspace, **{"port": self.port, **settings})
        # With the setting lazy_connect, there is no cluster yet, and `get_cluster` raises.
        with contextlib.suppress(Exception):
            self._clusters.append(connection.get_cluster())
        return connection

    def close(self) -> None:
        """Shut down the clusters that the program has opened, and the mapper's cluster."""
        for cluster in self._clusters:
            with contextlib.suppress(Exception):
                cluster.shutdown()
        self._clusters.clear()

    def close_shared(self) -> None:
        """Shut down the cluster of the shared session."""
        for session in self._sessions.values():
            with contextlib.suppress(Exception):
                session.cluster.shutdown()
        self._sessions.clear()


class Worker:
    """Answers orders, and keeps the `ProgramContext` of each keyspace until a "finish" order."""

    def __init__(self) -> None:
        self._modules: dict[str, dict[str, Any]] = {}
        self._contexts: dict[tuple[str, str], ProgramContext] = {}

    def module(self, name: str) -> dict[str, Any]:
        """Return the namespace of a file in programs/, which runs at the first call."""
        if name not in self._modules:
            path = HERE / "programs" / f"{name}.py"
            self._modules[name] = runpy.run_path(str(path), run_name="programs")
        return self._modules[name]

    def programs(self, name: str) -> list[str]:
        """Return the names of a module's programs.

        A function that is in the module's EACH is a program for each case: "function[case]".
        """
        module = self.module(name)
        each = module.get("EACH", {})
        names = []
        for key, value in module.items():
            if isinstance(value, types.FunctionType) and value.__module__ == "programs":
                if key.startswith("_"):
                    continue
                cases = [f"{key}[{case}]" for case in each[key]] if key in each else [key]
                names += cases
        return names

    def run(self, order: dict[str, Any]) -> dict[str, Any]:
        """Run a program; return its recorded values, its error, its warnings and its output."""
        context_key = (order["module"], order["keyspace"])
        context = self._contexts.setdefault(context_key, ProgramContext(order))
        context.shown, context.has_order = [], True
        output = io.StringIO()
        error: str | None = None
        with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stdout(output):
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", ResourceWarning)
            try:
                self._call(context, order["module"], order["program"])
            except BaseException as raised:
                error = error_text(raised)
                last_frames = "".join(traceback.format_exception(raised)[-4:])
                print(order["module"], order["program"], last_frames, file=sys.stderr)
            context.close()
        if os.environ.get("DIFFERENTIAL_TRACEBACKS"):
            for warning in warned:
                print(order["program"], warning.category.__name__, warning.message, file=sys.stderr)
        return {
            "shown": context.shown,
            "error": error,
            "warnings": sorted({warning.category.__name__ for warning in warned}),
            "printed": context._clean(output.getvalue()),
            "has_order": context.has_order,
        }

    def _call(self, context: ProgramContext, name: str, program: str) -> None:
        """Call the function of a program.

        :param context: passed to the function.
        :param name: the name of the module that has the function.
        :param program: "function", or "function[case]" if the module's `EACH` has cases for the
            function. The value of the case is then passed as the second argument.
        """
        module = self.module(name)
        function, _, case = program.partition("[")
        if not case:
            module[function](context)
            return
        cases = module["EACH"][function]
        case_name = case.removesuffix("]")
        key = next(candidate for candidate in cases if str(candidate) == case_name)
        module[function](context, cases[key] if isinstance(cases, dict) else key)

    def finish(self, order: dict[str, Any]) -> dict[str, Any]:
        """Close the session that the programs of a keyspace share; return an empty answer."""
        for module, keyspace in list(self._contexts):
            if keyspace == order["keyspace"]:
                self._contexts.pop((module, keyspace)).close_shared()
        return {}

    def answer(self, order: dict[str, Any]) -> dict[str, Any]:
        """Execute an order, and return its answer."""
        if order["do"] == "list":
            module = self.module(order["module"])
            return {
                "programs": self.programs(order["module"]),
                "tables": module.get("TABLES", []),
                "own_keyspace": module.get("OWN_KEYSPACE", False),
                "statements": module.get("STATEMENTS", True),
            }
        return self.finish(order) if order["do"] == "finish" else self.run(order)


def serve(orders: TextIO, answers: TextIO) -> None:
    """Answer each line of `orders`, which is an order, with a line of `answers`.

    If this script itself raises an error, the answer has the key "broken".
    """
    worker = Worker()
    for line in orders:
        try:
            answer = worker.answer(json.loads(line))
        except Exception:
            answer = {"broken": traceback.format_exc()}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    sys.path.pop(0)  # remove this folder, so that programs cannot import its modules
    # Answers go to the real standard output. Output of programs and drivers goes to standard error,
    # so that it cannot mix with the answers.
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    serve(sys.stdin, channel)
    channel.flush()
    os._exit(0)  # do not wait for threads that a program has left running
