"""Chooses between two implementations of performance-critical modules: pure Python or Cython.

Other modules do not know which implementation is in use.

Each name in `TWINS` stands for two modules with the same public names and signatures: one in pure
Python, and a compiled version in `cassandra._accel`. We call these two modules twins. Other modules
write ``from cassandra._impl import codecs`` and get the module of the implementation in use. For
type checkers they import the Python module under ``if TYPE_CHECKING:``.

The environment variable ``CASS_DRIVER_IMPL=python`` selects the Python modules, and ``c`` the
compiled modules. If compiled modules are missing, an ImportError lists them. Without the variable,
the compiled modules are used if all of them exist; otherwise the Python modules are used, and
`fallback_reason` says why. Python and compiled modules are never mixed. If a compiled module exists
but cannot be loaded, an ImportError is raised.

`implementation` and `fallback_reason` are public as attributes of `cassandra`. Interpreters other
than CPython always use the Python modules; `fallback_reason` is None there.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from cassandra._foreign import lost_files
from cassandra._imports import Deferred

if TYPE_CHECKING:
    from types import ModuleType

    from cassandra import _build_stamp
else:
    _build_stamp = Deferred("cassandra._build_stamp")

TWINS: dict[str, str] = {
    "bases": "cassandra.bases",
    "codecs": "cassandra.cqltypes.codecs",
    "clock": "cassandra.clock",
    "observed": "cassandra.observed",
    "arrow_capsules": "cassandra.protocol.columnar.arrow_capsules",
    "bind": "cassandra.protocol.bind",
    "binding": "cassandra.query.binding",
    "bodies": "cassandra.protocol.bodies",
    "column_binding": "cassandra.query.tables.column_binding",
    "column_buffers": "cassandra.protocol.columnar.column_buffers",
    "column_rows": "cassandra.metadata.schema.column_rows",
    "csv_rows": "cassandra.bulk.csv_rows",
    "csv_texts": "cassandra.bulk.csv_texts",
    "frame": "cassandra.protocol.frame",
    "grouping": "cassandra.bulk.grouping",
    "ring": "cassandra.metadata.placement.ring",
    "tablets": "cassandra.metadata.placement.tablets",
    "plans": "cassandra.policies.plans",
    "rows": "cassandra.protocol.rows",
    "happy_path": "cassandra.engine.happy_path",
}

implementation: Literal["python", "c"]
fallback_reason: str | None = None

# Advice for an installation without compiled modules. If the index has no compiled wheel for the
# platform, pip prefers the pure wheel to the source. --no-cache-dir keeps pip from installing a
# pure wheel that it has built itself.
HOW_TO_COMPILE = (
    "install a C compiler (Debian: apt install build-essential python3-dev), and run "
    "CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST=1 pip install --no-cache-dir --force-reinstall "
    "--no-deps --no-binary turbocql turbocql"
)


def twin(name: str, impl: str) -> ModuleType:
    """Import and return the Python version or the compiled version of a module.

    :param name: a key of `TWINS`.
    :param impl: "python" for the Python version, "c" for the compiled version.
    :raises ImportError: if the compiled module cannot be loaded.
    """
    if name not in TWINS:
        raise AttributeError(
            f"no twin modules are named {name!r}; there are {', '.join(sorted(TWINS))}"
        )
    if impl == "python":
        return importlib.import_module(TWINS[name])
    try:
        return importlib.import_module(f"cassandra._accel.{name}")
    except ImportError as error:
        # Find out which module is missing: it may be one that the compiled module imports.
        missing_module = getattr(error, "name", None) or ""
        if isinstance(error, ModuleNotFoundError) and missing_module.startswith("cassandra."):
            raise ImportError(lost_files(missing_module)) from error
        advice = (
            "Install turbocql again for this interpreter; CASS_DRIVER_IMPL=python goes on without."
        )
        # The first message is Cython's, and the second one Python's (from 3.12 on).
        if "Interpreter change" in str(error) or "in subinterpreters" in str(error):
            advice = (
                "Compiled modules work in the first interpreter of a process that imports them: "
                "set CASS_DRIVER_IMPL=python for others, and use cassandra.aio in isolated ones "
                "(concurrent.interpreters)"
            )
        raise ImportError(
            f"the compiled module cassandra._accel.{name} cannot be loaded: {error}. {advice}"
        ) from error


def reduced(
    instance: object, own_class: type[Any], name: str, *arguments: Any
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return what ``__reduce__`` of a class of both implementations returns: see `remade`.

    :param instance: the object to pickle or copy.
    :param own_class: the class whose ``__reduce__`` this is. An object of a subclass stays one.
    :param name: a key of `TWINS`.
    :param arguments: the arguments of the class.
    """
    if type(instance) is own_class:
        return remade, (name, own_class.__name__, *arguments)
    return type(instance), arguments


def remade(name: str, class_name: str, *arguments: Any) -> Any:
    """Return a new object of a class of the implementation in use.

    The classes of both implementations reduce their objects to a call of this function. So an
    object that was pickled with one implementation can be unpickled with the other.

    :param name: a key of `TWINS`.
    :param class_name: the name of a class in that module.
    :param arguments: the arguments of the class.
    """
    return getattr(globals().get(name) or __getattr__(name), class_name)(*arguments)


def _missing_compiled() -> list[str]:
    """Return the names of the compiled modules that do not exist.

    This function does not import the compiled modules: they would import other modules, and those
    may be importing `_impl` at the moment.
    """
    return [
        name
        for name in (f"cassandra._accel.{twin_name}" for twin_name in TWINS)
        if not _is_there(name)
    ]


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ValueError:  # user code has replaced the module by an object without `__spec__`
        return False


def _choose() -> Literal["python", "c"]:
    """Return the implementation that this process uses, and set `fallback_reason`."""
    global fallback_reason
    requested = os.environ.get("CASS_DRIVER_IMPL", "").strip().lower()
    if requested not in ("", "python", "c"):
        raise ImportError(f"CASS_DRIVER_IMPL is {requested!r}; it takes 'python' or 'c'")
    # Return before we search for compiled modules, so that the Python modules can be used even if
    # the build is broken.
    if requested == "python" or (not requested and sys.implementation.name != "cpython"):
        return "python"
    missing = _missing_compiled()
    if not missing:
        _warn_of_other_sources()
        return "c"
    if requested == "c":
        raise ImportError(
            "CASS_DRIVER_IMPL=c asks for the compiled modules, but these are not there:\n  "
            + "\n  ".join(missing)
            + "\nInstall a wheel that has them, or build with a C compiler and "
            "CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST=1."
        )
    missing_names = "any" if len(missing) == len(TWINS) else ", ".join(missing)
    fallback_reason = f"the compiled modules are not there: it lacks {missing_names}"
    _warn_of_source_tree()
    return "python"


def _warn_of_source_tree() -> None:
    """Warn if an unbuilt source checkout was imported although a compiled installation exists."""
    # Python searches the working directory first, which may be a source checkout.
    tree = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    # Only a source checkout has this file.
    if not os.path.exists(os.path.join(tree, "setup.py")):
        return
    # The search below takes some milliseconds, but only in a checkout without compiled modules.
    metadata = importlib.import_module("importlib.metadata")
    for distribution in metadata.distributions(name="turbocql"):
        for path in distribution.files or ():
            if path.parent.name == "_accel" and path.suffix in (".so", ".pyd"):
                warnings.warn(
                    f"the source tree in {tree} is imported, which is not built, in place of the "
                    f"compiled turbocql in {distribution.locate_file('')}: it is several times "
                    "slower. Start Python in another folder, or build the tree: "
                    "python setup.py build_ext --inplace",
                    RuntimeWarning,
                    stacklevel=2,
                )
                return


def other_sources(changed: list[str]) -> str:
    """Return the message for compiled modules that were not built from the current sources.

    :param changed: the result of `cassandra._build_stamp.changed_files`.
    """
    # Name at most three of the files.
    names = f"{', '.join(changed[:3])}{f', {len(changed) - 3} more' if len(changed) > 3 else ''}"
    return (
        f"cassandra._accel was built from other sources ({names} differ from the last build): "
        "attributes may be missing at odd places. To build it again, "
        f"{_build_stamp.REBUILD}; CASS_DRIVER_IMPL=python goes on without"
    )


def _warn_of_other_sources() -> None:
    """Warn if sources have changed since the compiled modules were built."""
    # This file exists only in a source checkout that was built, and not in an installed wheel.
    if not os.path.exists(os.path.join(os.path.dirname(__file__), "_accel", "built-from.txt")):
        return
    changed = _build_stamp.changed_files()
    if changed:
        warnings.warn(other_sources(changed), RuntimeWarning, stacklevel=2)


implementation = _choose()


def __getattr__(name: str) -> ModuleType:
    """Import a module of the implementation in use when it is first accessed (PEP 562).

    We do not import all of these modules here when `_impl` itself is imported: they would import
    `_impl` in turn before it is complete.
    """
    if name not in TWINS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = twin(name, implementation)
    # Store the module as a plain attribute: `__getattr__` is slow, and hot paths read the
    # attribute.
    globals()[name] = module
    return module
