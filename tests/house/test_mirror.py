"""``tests/unit`` mirrors ``cassandra``: ``cassandra/a/b.py`` is tested by ``tests/unit/a/test_b.py``.

If one file is not enough, further ones are named after it: ``test_b_on_nodes.py``. A module's
leading underscore is dropped, and an ``__init__.py`` is tested by ``test_package.py``. A pair of
twins is tested under the name of its Python module. Modules that only hand names on or hold
constants need no test of their own.

Two lists have all that is otherwise.
"""  # noqa: E501

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import cassandra

HERE = Path(__file__).parents[1] / "unit"
SOURCES = Path(cassandra.__file__).parent

# Test modules, or rooms of them, that mirror no module: they guard something across modules.
ACROSS = {
    "drop_in/": "what programs of today's drivers find: names, settings, values, tracers",
    "faults/": "what goes wrong, by where it does: connections, hosts, faces, the mapper, a server",
    "lifetimes/": "ends, forks and shutdowns of clusters, with calls under way",
    "scylla/": "ScyllaDB's extensions through the whole engine",
    "security/": "TLS, logins, bundles and encrypted columns on every face; what must not show",
    "cqltypes/codecs/test_sharing.py": "plans of types under threads, and reference counts",
    "cqltypes/test_hostile_values.py": "both implementations, with values that nobody means to bind",  # noqa: E501
    "cqltypes/test_parity.py": "both implementations of the codecs beside each other",
    "protocol/test_parity.py": "both implementations of the protocol beside each other",
    "test_compiled_objects.py": "that copies of compiled objects are good or refused",
    "test_careless_callers.py": "that nothing public makes the process die",
    "test_fuzz.py": "tests/fuzz",
    "test_import_cost.py": "what an import loads",
    "test_pickle.py": "that errors, rows, values and statements can be pickled",
    "test_twins.py": "that the two implementations have the same names and signatures",
}

# Modules, or rooms of them, without a test module of their own, and the tests that guard them.
GUARDED_BY = {
    # Which implementation is in use decides what all tests import.
    "_impl.py": "test_twins.py",
    # The faces: the same tests run on both.
    "client/settings/": "drop_in/test_settings.py",
    "aio/columnar.py": "client/test_columnar.py",
    "observed.py": "test_observers.py",
    # The setting is looked at by the tests of its effect; routes are watched as they are used.
    "engine/control/query_fallback.py": "engine/control/test_fallback_requests.py",
    "engine/control/route_watch.py": "engine/control/test_client_routes.py",
    "engine/attempts.py": "engine/test_happy_path.py",
    # Names that programs know, and parts of today's drivers that are not here.
    "_compat/": "drop_in/test_tracers.py",
    "engine/known_names.py": "drop_in/test_tracers.py",
    # The engine: what wires and drives the other parts, on fake nodes.
    "engine/core.py": "engine/hosts/test_watch_on_nodes.py",
    "engine/prepare/sending.py": "client/test_batches.py",
    "engine/request_bodies.py": "engine/test_happy_path.py",
    "engine/resolving.py": "engine/test_happy_path.py",
    # Rows of the schema tables, and pages by columns: from the bytes of a node to objects.
    "protocol/messages/streamed.py": "drop_in/test_handlers.py",
    "query/tables/": "query/tables/test_values.py",
    # The fake node is tested from outside, by the bytes on its socket.
    "testing/fake/": "testing/fake/test_node.py",
    # Real nodes: these do nothing without one.
    "testing/": "../integration/test_local_cluster.py",
}


def modules() -> Iterator[str]:
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        if not name.startswith("_accel/"):
            yield name


def own_test(module: str) -> str:
    """The name of a module's own test module."""
    room, _, name = module.rpartition("/")
    stem = "package" if name == "__init__.py" else name.removesuffix(".py").lstrip("_")
    return f"{room}/test_{stem}.py".lstrip("/")


def is_mirror(test: str, module: str) -> bool:
    own = own_test(module)
    return test == own or test.startswith(own.removesuffix(".py") + "_")


def listed(name: str, names: dict[str, str]) -> str | None:
    """The entry of a list that has a module: its own, or that of its room."""
    return next(
        (one for one in names if one == name or (one[-1] == "/" and name.startswith(one))), None
    )


def is_protocol(node: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases)


def holds_code(module: str) -> bool:
    """Whether there is anything to test: a function, or a class with methods."""
    for node in ast.parse((SOURCES / module).read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if node.name not in ("__getattr__", "__dir__"):
                return True
        elif (
            isinstance(node, ast.ClassDef)
            and not is_protocol(node)
            and any(isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)) for one in node.body)
        ):
            return True
    return False


MODULES = list(modules())
TESTS = [path.relative_to(HERE).as_posix() for path in sorted(HERE.rglob("test_*.py"))]


def has_own_test(module: str) -> bool:
    return any(is_mirror(test, module) for test in TESTS)


def test_each_module_has_a_test_module_of_its_name() -> None:
    without = [
        f"{module}: {own_test(module)}"
        for module in MODULES
        if not has_own_test(module) and holds_code(module) and listed(module, GUARDED_BY) is None
    ]
    assert without == [], "write the test module, or say in GUARDED_BY which test guards the module"


def test_each_test_module_has_a_module_of_its_name() -> None:
    without = [
        test
        for test in TESTS
        if listed(test, ACROSS) is None and not any(is_mirror(test, name) for name in MODULES)
    ]
    assert without == [], "name it after the module that it guards, or say in ACROSS what it guards"


def test_exceptions_are_still_needed() -> None:
    for test in TESTS:
        entry = listed(test, ACROSS)
        assert entry is None or not any(is_mirror(test, name) for name in MODULES), (
            f"{test} mirrors a module, and {entry} is for those that do not"
        )
    for name, test in GUARDED_BY.items():
        assert (HERE / test).is_file(), test
        guarded = [one for one in MODULES if listed(one, {name: test}) and holds_code(one)]
        assert guarded, f"there is no {name}, or nothing in it to test"
        assert not all(map(has_own_test, guarded)), f"{name} has a test module of its own"


def test_rooms_across_modules_are_there() -> None:
    for name in ACROSS:
        assert (HERE / name).exists(), name
