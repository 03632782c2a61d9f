"""The one place that knows that there are two implementations of the hot path.

Each name in `TWINS` stands for a pair of modules with the same public names and signatures: the
Python reference, and its Cython counterpart in `cassandra._accel`. Other modules write ``from
cassandra._impl import codecs`` and get the member of the pair that is in use. Type checkers read
the Python one.

``CASS_DRIVER_IMPL=python`` in the environment takes the Python modules. ``c`` insists on the
compiled ones: an ImportError names each that is missing. If it is not set, the compiled modules are
used if all of them are there. Otherwise the Python modules are, and `fallback_reason` says why. The
two are never mixed. A compiled module that is there but cannot be loaded is an ImportError.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from types import ModuleType

    from cassandra import clock, murmur3
    from cassandra.cqltypes import codecs
    from cassandra.engine import exchange
    from cassandra.metadata.placement import ring
    from cassandra.metadata.schema import column_rows
    from cassandra.policies import plans
    from cassandra.protocol import bind, bodies, frame, rows, segment
    from cassandra.protocol.columnar import arrow_capsules, column_buffers
    from cassandra.query import binding

__all__ = [
    "TWINS",
    "arrow_capsules",
    "bind",
    "binding",
    "bodies",
    "clock",
    "codecs",
    "column_buffers",
    "column_rows",
    "exchange",
    "fallback_reason",
    "frame",
    "implementation",
    "murmur3",
    "plans",
    "ring",
    "rows",
    "segment",
    "twin",
]

TWINS: dict[str, str] = {
    "codecs": "cassandra.cqltypes.codecs",
    "clock": "cassandra.clock",
    "murmur3": "cassandra.murmur3",
    "arrow_capsules": "cassandra.protocol.columnar.arrow_capsules",
    "bind": "cassandra.protocol.bind",
    "binding": "cassandra.query.binding",
    "bodies": "cassandra.protocol.bodies",
    "column_buffers": "cassandra.protocol.columnar.column_buffers",
    "column_rows": "cassandra.metadata.schema.column_rows",
    "frame": "cassandra.protocol.frame",
    "ring": "cassandra.metadata.placement.ring",
    "plans": "cassandra.policies.plans",
    "rows": "cassandra.protocol.rows",
    "segment": "cassandra.protocol.segment",
    "exchange": "cassandra.engine.exchange",
}

implementation: Literal["python", "c"]
fallback_reason: str | None = None


def twin(name: str, impl: str) -> ModuleType:
    """Return the module that implements `name`.

    :param name: a key of `TWINS`.
    :param impl: "python" or "c".
    :raises ImportError: if it cannot be imported.
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
        raise ImportError(
            f"the compiled module cassandra._accel.{name} cannot be loaded: {error}. "
            "Install turbocql again for this interpreter; CASS_DRIVER_IMPL=python goes on "
            "without it."
        ) from error


def _missing_compiled() -> list[str]:
    """Return the compiled modules that are not there.

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
    # All or none: a Python module and a compiled one of two builds may disagree on a plan object.
    global fallback_reason
    wanted = os.environ.get("CASS_DRIVER_IMPL", "").strip().lower()
    if wanted not in ("", "python", "c"):
        raise ImportError(f"CASS_DRIVER_IMPL is {wanted!r}; it takes 'python' or 'c'")
    if wanted == "python":
        return "python"
    missing = _missing_compiled()
    if not missing:
        return "c"
    if wanted == "c":
        raise ImportError(
            "CASS_DRIVER_IMPL=c asks for the compiled modules, but these are not there:\n  "
            + "\n  ".join(missing)
            + "\nInstall a wheel that has them, or build with a C compiler and "
            + "CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST=1."
        )
    fallback_reason = f"not built: {', '.join(missing)}"
    return "python"


implementation = _choose()


def __getattr__(name: str) -> ModuleType:
    """Import the chosen twin at its first use (PEP 562). This keeps import cycles out."""
    if name not in TWINS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = twin(name, implementation)
    globals()[name] = module
    return module
