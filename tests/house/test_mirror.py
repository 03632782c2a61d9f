"""Check that ``tests/unit`` mirrors ``cassandra``.

The module ``cassandra/a/b.py`` is tested by ``tests/unit/a/test_b.py``. If one file is not enough,
further files are named after it: ``test_b_on_nodes.py``. A module's leading underscore is dropped,
and an ``__init__.py`` is tested by ``test_package.py``. If a module has a Python and a compiled
implementation (twins), both are tested under the name of the Python module. Modules that only
re-export names or hold constants need no test.

ACROSS lists tests that mirror no module, and GUARDED_BY modules that another test module tests.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import cassandra

HERE = Path(__file__).parents[1] / "unit"
SOURCES = Path(cassandra.__file__).parent

# These test modules or packages (with a slash at the end) mirror no module, because they test
# several modules together. The value says what they test.
ACROSS = {
    "drop_in/": "what applications of cassandra-driver need: names, settings, values, tracers",
    "faults/": "faults of connections, hosts, the APIs, the mapper and servers",
    "lifetimes/": "ends, forks and shutdowns of clusters during calls",
    "scylla/": "ScyllaDB's extensions through the whole engine",
    "security/": "TLS, logins, bundles and encrypted columns on every API; what must not be shown",
    "cqlengine/query/test_idempotence.py": "which statements of the mapper may be sent again",
    "cqltypes/codecs/test_sharing.py": "plans of types under threads, and reference counts",
    "cqltypes/test_hostile_values.py": "both implementations, with values that nobody means to bind",  # noqa: E501
    "cqltypes/test_parity.py": "both implementations of the codecs beside each other",
    "protocol/test_parity.py": "both implementations of the protocol beside each other",
    "testing/replay/test_secrets_of_recordings.py": "that recordings have no passwords",
    "test_compiled_objects.py": "that copies of compiled objects are good or refused",
    "test_failed_allocations.py": "that compiled code loses no reference if memory is short",
    "test_careless_callers.py": "that nothing public makes the process die",
    "test_main.py": "the commands: python -m cassandra and those that it lists",
    "test_fuzz.py": "tests/fuzz",
    "test_import_cost.py": "what an import loads",
    "test_pickle.py": "that errors, rows, values and statements can be pickled",
    "test_twins.py": "that the two implementations have the same names and signatures",
}

# These modules or packages have no separate test module. The value is the test module that tests
# them.
GUARDED_BY = {
    # The same tests run on the blocking and the asyncio API.
    "client/settings/": "drop_in/test_settings.py",
    "aio/columnar.py": "client/test_columnar.py",
    # These modules are tested through their effects on a cluster.
    "engine/control/query_fallback.py": "engine/control/test_fallback_requests.py",
    "engine/attempts.py": "engine/test_happy_path.py",
    "__main__.py": "test_main.py",
    # These modules provide names of cassandra-driver and scylla-driver, for code that imports or
    # patches these names.
    "_compat/": "drop_in/test_tracers.py",
    "_proxies.py": "drop_in/test_tracers.py",
    "engine/compat_names.py": "drop_in/test_tracers.py",
    # These modules of the engine connect the other parts, and are tested on fake nodes.
    "engine/prepare/sending.py": "client/test_batches.py",
    "engine/resolving.py": "engine/test_happy_path.py",
    # These modules read columnar pages. Their tests pass them the bytes that a node would send.
    "query/tables/": "query/tables/test_values.py",
    # The fake node is tested through the bytes on its socket.
    "testing/fake/": "testing/fake/test_node.py",
    # The modules for real nodes are tested with real nodes.
    "testing/": "../integration/test_local_cluster.py",
}


def modules() -> Iterator[str]:
    """Yield the path of each Python module of the driver, relative to the package."""
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        if not name.startswith("_accel/"):
            yield name


def own_test(module: str) -> str:
    """Return the name of the test module of a module."""
    package, _, name = module.rpartition("/")
    stem = "package" if name == "__init__.py" else name.removesuffix(".py").lstrip("_")
    return f"{package}/test_{stem}.py".lstrip("/")


def is_mirror(test: str, module: str) -> bool:
    """Return True if `test` is named after `module`, with or without a further suffix."""
    expected = own_test(module)
    return test == expected or test.startswith(expected.removesuffix(".py") + "_")


def entry_for(name: str, names: dict[str, str]) -> str | None:
    """Return the key of `names` that covers a module or test module, or None if there is none.

    The key is the name of the module, or of a package that contains it (with a slash at the end).
    """
    return next(
        (key for key in names if key == name or (key[-1] == "/" and name.startswith(key))), None
    )


def is_protocol(node: ast.ClassDef) -> bool:
    """Return True if a class is a `typing.Protocol`, whose methods have no code to test."""
    return any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases)


def needs_test(module: str) -> bool:
    """Return True if the module has a function, or a class with methods, that needs a test."""
    for node in ast.parse((SOURCES / module).read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if node.name not in ("__getattr__", "__dir__"):
                return True
        elif (
            isinstance(node, ast.ClassDef)
            and not is_protocol(node)
            and any(
                isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) for child in node.body
            )
        ):
            return True
    return False


MODULES = list(modules())
TESTS = [path.relative_to(HERE).as_posix() for path in sorted(HERE.rglob("test_*.py"))]


def has_own_test(module: str) -> bool:
    """Return True if a test module is named after the module."""
    return any(is_mirror(test, module) for test in TESTS)


def test_each_module_has_a_test_module_of_its_name() -> None:
    untested = [
        f"{module}: {own_test(module)}"
        for module in MODULES
        if not has_own_test(module) and needs_test(module) and entry_for(module, GUARDED_BY) is None
    ]
    assert untested == [], (
        "write the test module, or say in GUARDED_BY which test guards the module"
    )


def test_each_test_module_has_a_module_of_its_name() -> None:
    tests_without_module = [
        test
        for test in TESTS
        if entry_for(test, ACROSS) is None and not any(is_mirror(test, name) for name in MODULES)
    ]
    assert tests_without_module == [], (
        "name it after the module that it guards, or say in ACROSS what it guards"
    )


def test_each_exception_is_needed() -> None:
    """Each entry of ACROSS and GUARDED_BY must be needed.

    An entry of ACROSS is needed if no test that it covers is named after a module. An entry of
    GUARDED_BY is needed if at least one module that it covers has no separate test module.
    """
    for test in TESTS:
        entry = entry_for(test, ACROSS)
        assert entry is None or not any(is_mirror(test, name) for name in MODULES), (
            f"{test} mirrors a module, and {entry} is for those that do not"
        )
    for name, test in GUARDED_BY.items():
        assert (HERE / test).is_file(), test
        guarded = [
            module for module in MODULES if entry_for(module, {name: test}) and needs_test(module)
        ]
        assert guarded, f"{name} does not exist, or has nothing to test"
        assert not all(map(has_own_test, guarded)), f"{name} has a test module of its own"


def test_each_test_in_across_exists() -> None:
    for name in ACROSS:
        assert (HERE / name).exists(), name
