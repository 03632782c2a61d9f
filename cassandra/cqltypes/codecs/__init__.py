"""Codecs of all CQL types: the pure Python version of `cassandra._accel.codecs`.

A codec encodes and decodes the values of one type, and is immutable. ``encode(value) -> bytes`` and
``decode(data) -> value`` work on the bytes of a value, without the length that precedes them in a
message. The functions of this module make codecs. The functions for containers take the codecs of
their elements as arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra._imports import Deferred
from cassandra.cqltypes.codecs.base import (
    Codec,
    TypeCalls,
    from_class,
    from_functions,
    release_vector_memory,
)

if TYPE_CHECKING:
    from cassandra.cqltypes.codecs import containers, scalars
    from cassandra.cqltypes.codecs.containers import *  # noqa: F403
    from cassandra.cqltypes.codecs.scalars import *  # noqa: F403

    __all__ = ["Codec", "TypeCalls", "from_class", "from_functions", "release_vector_memory"]
    __all__ += containers.__all__
    __all__ += scalars.__all__
else:
    _BASE_NAMES = ("Codec", "TypeCalls", "from_class", "from_functions", "release_vector_memory")
    # Import these modules on first use: with the compiled version, nothing needs them.
    containers = Deferred("cassandra.cqltypes.codecs.containers")
    scalars = Deferred("cassandra.cqltypes.codecs.scalars")

    def __getattr__(name):
        # Even `__all__` is made on first use, because it joins the `__all__` of the two modules.
        if name == "__all__":
            return sorted((*_BASE_NAMES, *containers.__all__, *scalars.__all__))
        for module in (containers, scalars) if not name.startswith("_") else ():
            if name in module.__all__:
                # Store the function, so that the next access does not call `__getattr__` again.
                factory = globals()[name] = getattr(module, name)
                return factory
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
