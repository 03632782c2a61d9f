"""The one place that knows that there are two implementations of the hot path.

Each name in `TWINS` stands for a pair of modules with the same public names and signatures: the Python reference, and its
Cython counterpart in `cassandra._accel`. Consumers write ``from cassandra._impl import codecs`` and get the pair's member
that is in use; type checkers read the Python one.

Environment: ``CASS_DRIVER_IMPL=python`` takes the Python modules, ``c`` insists on the compiled ones (an ImportError names
each that is missing). Without it the compiled modules serve when every one of them can be imported, else the Python modules
do, and `fallback_reason` says why; the two are never mixed.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from types import ModuleType

    from cassandra import murmur3
    from cassandra.cqltypes import codecs
    from cassandra.protocol import bind, bodies, frame, rows, segment

__all__ = [
    "TWINS",
    "bind",
    "bodies",
    "codecs",
    "fallback_reason",
    "frame",
    "implementation",
    "murmur3",
    "rows",
    "segment",
    "twin",
]

TWINS: dict[str, str] = {
    "codecs": "cassandra.cqltypes.codecs",
    "murmur3": "cassandra.murmur3",
    "bind": "cassandra.protocol.bind",
    "bodies": "cassandra.protocol.bodies",
    "frame": "cassandra.protocol.frame",
    "rows": "cassandra.protocol.rows",
    "segment": "cassandra.protocol.segment",
}

implementation: Literal["python", "c"]
fallback_reason: str | None = None


def twin(name: str, impl: str) -> ModuleType:
    """The module that implements `name` (a key of `TWINS`) in `impl`, "python" or "c"; ImportError where it is absent."""
    if name not in TWINS:
        raise AttributeError(f"no twin modules are named {name!r}; there are {', '.join(sorted(TWINS))}")
    return importlib.import_module(TWINS[name] if impl == "python" else f"cassandra._accel.{name}")


def _missing_compiled() -> list[str]:
    """One line for each compiled module that cannot be imported, with the reason."""
    missing = []
    for name in TWINS:
        try:
            twin(name, "c")
        except ImportError as error:
            missing.append(f"cassandra._accel.{name}: {error}")
    return missing


def _choose() -> Literal["python", "c"]:
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
            "CASS_DRIVER_IMPL=c asks for the compiled modules, but these cannot be imported:\n  "
            + "\n  ".join(missing)
            + "\nInstall a wheel that has them, or build with a C compiler and CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST=1."
        )
    fallback_reason = "; ".join(missing)
    return "python"


implementation = _choose()


def __getattr__(name: str) -> ModuleType:
    """Import the chosen twin at its first use (PEP 562), which keeps import cycles out of this module."""
    if name not in TWINS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = twin(name, implementation)
    globals()[name] = module
    return module
