"""Flags that say whether compiled modules and NumPy are available, as in cassandra-driver."""

from __future__ import annotations

import importlib.util

import cassandra._impl as implementations
from cassandra._lazy import lazy_names

__all__ = ["HAVE_CYTHON", "HAVE_NUMPY"]

HAVE_CYTHON: bool = implementations.implementation == "c"
# Only check that NumPy exists, because importing it takes longer than importing the driver.
HAVE_NUMPY: bool = importlib.util.find_spec("numpy") is not None

__getattr__ = lazy_names(__name__)
