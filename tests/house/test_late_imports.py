"""Tests that names that are imported late exist, and that type checkers find them.

At run time, `Deferred` and `at_first_cluster` import these names when they are used. Type checkers
read ordinary imports under ``if TYPE_CHECKING``, which must name the same objects.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator

from tests.house.test_layers import TREES, called


def deferred_in(tree: ast.AST) -> Iterator[tuple[str, str, str]]:
    """Yield (name, module, object for type checkers) of each `name = Deferred("module")`."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Call)
            and called(node.value) == "Deferred"
            and isinstance(node.value.args[0], ast.Constant)
        ):
            module = str(node.value.args[0].value)
            yield node.targets[0].id, module, module


def imported_at_first_cluster(tree: ast.AST) -> Iterator[tuple[str, str, str]]:
    """Yield (name, module, object for type checkers) of each argument of `at_first_cluster`.

    The second item is the module that is imported to get the name. The third is the dotted name of
    the object that type checkers must find under the name.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node) == "at_first_cluster":
            for keyword in node.keywords:
                name, module_name = str(keyword.arg), keyword.value.value  # type: ignore[attr-defined]
                # The name is that of the module itself, such as `ssl`.
                if module_name == name:
                    yield name, module_name, name
                # `_impl` chooses the compiled or the Python class at run time. Type checkers must
                # find the Python class.
                elif module_name == "cassandra._impl":
                    python_module = (
                        importlib.import_module(module_name).TWINS[name].rpartition(".")[0]
                    )
                    yield name, module_name, f"{python_module}.{name}"
                else:
                    yield name, module_name, f"{module_name}.{name}"


def seen_by_checkers(tree: ast.AST) -> dict[str, str]:
    """Return the dotted names of the objects that a source imports, by their names in the source.

    Type checkers use these imports; at run time, late imports may replace them.
    """
    seen: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            seen |= {
                alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names
            }
        elif isinstance(node, ast.Import):
            seen |= {alias.asname or alias.name: alias.name for alias in node.names}
    return seen


def mistakes_in(tree: ast.AST) -> list[str]:
    """Return descriptions of what is wrong with the late imports of a source."""
    seen_objects = seen_by_checkers(tree)
    mistakes = []
    for name, module_name, declared_object in [
        *deferred_in(tree),
        *imported_at_first_cluster(tree),
    ]:
        try:
            module = importlib.import_module(module_name)
        except ImportError as error:
            mistakes.append(f"{name}: {error}")
            continue
        if module_name not in (declared_object, name) and not hasattr(module, name):
            mistakes.append(f"{name}: {module_name} has no such name")
        if seen_objects.get(name) != declared_object:
            mistakes.append(
                f"{name}: {declared_object} at run time, {seen_objects.get(name)} for type checkers"
            )
    # A call of `import_module` with a fixed name hides the module from type checkers.
    mistakes += [
        f"import_module({node.args[0].value!r}), which type checkers do not see"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and called(node) == "import_module"
        and isinstance(node.args[0], ast.Constant)
        and str(node.args[0].value).startswith("cassandra")
    ]
    return mistakes


def test_type_checkers_see_the_objects_that_late_imports_import() -> None:
    mistakes = {module: mistakes_in(tree) for module, tree in TREES.items()}
    assert {module: wrong for module, wrong in mistakes.items() if wrong} == {}


def test_mistakes_in_reports_missing_and_different_objects() -> None:
    """`mistakes_in` must report missing and different objects.

    In the source, the late imports of `load`, `Request` and `ssl` are right.
    """
    source = """
if TYPE_CHECKING:
    import ssl
    from cassandra.bulk import load, scan
    from cassandra.clock import Clock
    from cassandra.engine.request import Request
else:
    load = Deferred("cassandra.bulk.load")
    scan = Deferred("cassandra.bulk.unload")
    gone = Deferred("cassandra.no_such_module")
    at_first_cluster(
        __name__, Request="cassandra.engine.request", Clock="cassandra.limits", ssl="ssl"
    )
import_module("cassandra.limits")
"""
    assert mistakes_in(ast.parse(source)) == [
        "scan: cassandra.bulk.unload at run time, cassandra.bulk.scan for type checkers",
        "gone: No module named 'cassandra.no_such_module'",
        "Clock: cassandra.limits has no such name",
        "Clock: cassandra.limits.Clock at run time, cassandra.clock.Clock for type checkers",
        "import_module('cassandra.limits'), which type checkers do not see",
    ]


def test_every_module_can_be_imported() -> None:
    for module in TREES:
        if not module.endswith("__main__"):
            importlib.import_module(module)
