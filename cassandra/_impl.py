"""The one place that knows that there are two implementations of the hot path.

Each name in `TWINS` stands for a pair of modules with the same public names and signatures: the
Python reference, and its Cython counterpart in `cassandra._accel`. Consumers write ``from
cassandra._impl import codecs`` and get the pair's member that is in use. Type checkers are to read
the Python one: consumers import that under ``if TYPE_CHECKING:``.

Environment: ``CASS_DRIVER_IMPL=python`` takes the Python modules, ``c`` insists on the compiled
ones (an ImportError names each that is missing). Without it the compiled modules serve when every
one of them is there, else the Python modules do, and `fallback_reason` says why; the two are never
mixed. A compiled module that is there and cannot be loaded is an ImportError.

`implementation` and `fallback_reason` are public as attributes of `cassandra`. Interpreters other
than CPython take the Python modules, and need no reason for it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import warnings
from typing import TYPE_CHECKING, Literal

from cassandra._foreign import lost_files

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["TWINS", "fallback_reason", "implementation", "twin"]

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


def twin(name: str, impl: str) -> ModuleType:
    """Return the module that implements a twin.

    :param name: a key of `TWINS`.
    :param impl: "python" or "c".
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
        lost = getattr(error, "name", None) or ""
        if isinstance(error, ModuleNotFoundError) and lost.startswith("cassandra."):
            raise ImportError(lost_files(lost)) from error
        raise ImportError(
            f"the compiled module cassandra._accel.{name} cannot be loaded: {error}. "
            "Install turbocql again for this interpreter; CASS_DRIVER_IMPL=python goes on without."
        ) from error


def _missing_compiled() -> list[str]:
    """The compiled modules that are not there.

    They are looked for, not imported: they import modules that may be in the middle of importing
    this one.
    """
    return [
        name
        for name in (f"cassandra._accel.{twin_name}" for twin_name in TWINS)
        if not _is_there(name)
    ]


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ValueError:  # a module without a spec stands in for it
        return False


def _choose() -> Literal["python", "c"]:
    global fallback_reason
    wanted = os.environ.get("CASS_DRIVER_IMPL", "").strip().lower()
    if wanted not in ("", "python", "c"):
        raise ImportError(f"CASS_DRIVER_IMPL is {wanted!r}; it takes 'python' or 'c'")
    # Before the search, so that a broken build can still be started without it.
    if wanted == "python" or (not wanted and sys.implementation.name != "cpython"):
        return "python"
    missing = _missing_compiled()
    if not missing:
        return "c"
    if wanted == "c":
        raise ImportError(
            "CASS_DRIVER_IMPL=c asks for the compiled modules, but these are not there:\n  "
            + "\n  ".join(missing)
            + "\nInstall a wheel that has them, or build with a C compiler and "
            "CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST=1."
        )
    lacking = "any" if len(missing) == len(TWINS) else ", ".join(missing)
    fallback_reason = f"the compiled modules are not there: it lacks {lacking}"
    _warn_of_source_tree()
    return "python"


def _warn_of_source_tree() -> None:
    """Warn if this is a source tree in front of an installation that is compiled."""
    # Python puts the working directory first: in a clone, that is the tree.
    tree = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if not os.path.exists(os.path.join(tree, "setup.py")):
        return
    # Costs some milliseconds: only in a tree that is not built.
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


implementation = _choose()


def __getattr__(name: str) -> ModuleType:
    """Import the chosen twin at its first use (PEP 562), which keeps import cycles out of this
    module.
    """
    if name not in TWINS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = twin(name, implementation)
    # Kept as a plain attribute: `__getattr__` of a module is slow, and hot paths read it.
    globals()[name] = module
    return module
