"""Extensions only: everything else about the distribution stands in pyproject.toml.

Each .pyx under cassandra/_accel is an extension of its own. By default each is optional: where
there is no compiler, or one that fails, a line says so and the pure Python twins serve. Four
switches decide otherwise:

CASS_DRIVER_NO_EXTENSIONS             build no extension at all
CASS_DRIVER_NO_CYTHON                 the same: every extension of this package is written in Cython
CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST fail the build when one extension cannot be built
CASS_DRIVER_SANITIZE                  build with sanitizers, for tests alone (see tests/sanitize.py)
"""

import os
import sys
from pathlib import Path

from setuptools import Extension, setup

SANITIZERS = ["-fsanitize=address,undefined"]


def switched_on(name: str) -> bool:
    return os.environ.get(name, "").strip().lower() in ("1", "true", "yes", "on")


def extensions() -> list[Extension]:
    must = switched_on("CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST")
    none = switched_on("CASS_DRIVER_NO_EXTENSIONS") or switched_on("CASS_DRIVER_NO_CYTHON")
    if none and must:
        sys.exit(
            "CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST contradicts CASS_DRIVER_NO_EXTENSIONS / CASS_DRIVER_NO_CYTHON"
        )
    if none or sys.implementation.name != "cpython":
        return []
    try:
        from Cython.Build import cythonize
    except ImportError as error:
        if must:
            sys.exit(
                f"CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST is set, but Cython cannot be imported: {error}"
            )
        return []
    flags = ["/O2"] if sys.platform == "win32" else ["-O3", "-g0", "-Wno-unreachable-code"]
    link_flags: list[str] = []
    if switched_on("CASS_DRIVER_SANITIZE"):
        flags = ["-O1", "-g", "-fno-omit-frame-pointer", *SANITIZERS]
        link_flags = [*SANITIZERS]
    sources = sorted(Path("cassandra/_accel").glob("*.pyx"))
    modules = [
        Extension(
            f"cassandra._accel.{source.stem}",
            [source.as_posix()],
            include_dirs=["cassandra/_accel"],
            depends=[
                header.as_posix()
                for header in sorted(source.parent.glob("*.[ph]*"))
                if header.suffix != ".py"
            ],
            extra_compile_args=flags,
            extra_link_args=link_flags,
        )
        for source in sources
    ]
    built: list[Extension] = cythonize(
        modules,
        nthreads=0,
        compiler_directives={
            "language_level": 3,
            "boundscheck": True,
            "nonecheck": True,
            "wraparound": False,
            "initializedcheck": False,
            "cdivision": True,
            "embedsignature": False,
            "binding": True,
        },
    )
    for extension in built:
        extension.optional = (
            not must
        )  # here: cythonize makes new objects, and keeps less than it was given
    return built


setup(ext_modules=extensions())
