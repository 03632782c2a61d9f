"""Extensions only: everything else about the distribution stands in pyproject.toml.

Each .pyx under cassandra/_accel is an extension of its own, and the driver uses all of them or
none. If one cannot be built, for want of a compiler say, the build says so and goes on without any:
the wheel is wholly pure, and tagged ``py3-none-any``, so that no installer keeps it as a compiled
one. The driver then logs a warning at its first connect. Five switches decide otherwise:

CASS_DRIVER_NO_EXTENSIONS             build no extension at all
CASS_DRIVER_NO_CYTHON                 the same: every extension of this package is written in Cython
CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST fail the build if one extension cannot be built
CASS_DRIVER_SANITIZE                  build with sanitizers, for tests alone (see tests/sanitize.py)
TURBOCQL_PLAIN_C                      build with CPython's documented C API alone, which is slower
                                      (see cassandra/_accel/beyond_api.h)
"""

import os
import runpy
import sys
from collections.abc import Iterable
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

SANITIZERS = ["-fsanitize=address,undefined"]

# The newest CPython that the test lanes have run on. A newer one gets the extensions as well.
NEWEST_TESTED = (3, 15)

# Used once for a table or a schema: what -O3 adds to them is time to build.
COLD = ("arrow_capsules", "column_rows")

# What Cython is told about all modules; every tool that translates or builds them asks this file.
# `bind` and `codecs` alone begin with a directive of their own (nonecheck off) and say why: here it
# would also reach the functions of .pxd files that they share with others. Cython does not notice
# a change of this table: delete the .c files first.
DIRECTIVES: dict[str, bool | int] = {
    "language_level": 3,
    # On: an index out of range and an attribute of None are errors, not reads of foreign memory.
    "boundscheck": True,
    "nonecheck": True,
    # No code counts from the end of a sequence, and bounds are checked whatever the sign.
    "wraparound": False,
    # It looks at typed memory views, and there are none: buffers are held by Py_buffer.
    "initializedcheck": False,
    # Every divisor is a constant or is known not to be zero. Where what is divided may be negative
    # (days, ticks), the code beside it rounds down by itself.
    "cdivision": True,
    # Functions have signatures that inspect can read, as their twins do; docstrings repeat none.
    "binding": True,
    "embedsignature": False,
    # A copy of a pointer is no copy: classes say themselves how they are pickled.
    "auto_pickle": False,
    # docs/twins.rst, "Threads": who writes what, and what guards it.
    "freethreading_compatible": True,
}

# Functions that keep account of what compiled modules were built from. The package itself is not
# imported, which would read compiled modules of an earlier build.
STAMPS = runpy.run_path(str(Path(__file__).with_name("cassandra") / "_build_stamp.py"))

# A compiler of one of the larger modules takes half a gigabyte, and the largest alone takes a
# third of the whole time: more processors would not help.
MOST_AT_ONCE = 4


def switched_on(name: str) -> bool:
    return os.environ.get(name, "").strip().lower() in ("1", "true", "yes", "on")


def at_once() -> int:
    """Return how many modules to build at the same time."""
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), MOST_AT_ONCE)
    return min(os.cpu_count() or 1, MOST_AT_ONCE)


def translators() -> int:
    """Return how many processes of Cython to start; 0 for none beside this one."""
    # Processes that start in another way than by fork import this file again.
    if sys.platform != "linux":
        return 0
    try:
        # Some sandboxes and containers have no semaphores, which pools of processes need.
        from multiprocessing import Lock

        Lock()
    except (ImportError, OSError):
        return 0
    return at_once()


def largest_first(sources: Iterable[Path]) -> list[Path]:
    """Return `sources`, so ordered that no processor waits long for the last one."""

    def size(source: Path) -> int:
        parts = source.parent.glob(f"{source.stem}*.p[yx][xi]")
        return sum(part.stat().st_size for part in parts)

    return sorted(sources, key=lambda source: (-size(source), source.name))


def flags_of(module: str) -> list[str]:
    """Return what the C compiler is told about a module; tools/build_wheels asks too."""
    if switched_on("CASS_DRIVER_SANITIZE"):
        return ["-O1", "-g", "-fno-omit-frame-pointer", *SANITIZERS]
    if sys.platform == "win32":
        return ["/O2"]
    return ["-O2" if module in COLD else "-O3", "-g0", "-Wno-unreachable-code"]


def extensions() -> list[Extension]:
    must = switched_on("CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST")
    none = switched_on("CASS_DRIVER_NO_EXTENSIONS") or switched_on("CASS_DRIVER_NO_CYTHON")
    if none and must:
        sys.exit(
            "CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST contradicts "
            "CASS_DRIVER_NO_EXTENSIONS / CASS_DRIVER_NO_CYTHON"
        )
    if none or sys.implementation.name != "cpython":
        return []
    try:
        from Cython.Build import cythonize
    except ImportError as error:
        if must:
            sys.exit(
                "CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST is set, but Cython cannot be imported: "
                f"{error}"
            )
        say_pure(error)
        return []
    if sys.version_info[:2] > NEWEST_TESTED:
        say_untested()
    macros = [("TURBOCQL_PLAIN_C", "1")] if switched_on("TURBOCQL_PLAIN_C") else []
    link_flags = [*SANITIZERS] if switched_on("CASS_DRIVER_SANITIZE") else []
    sources = largest_first(Path("cassandra/_accel").glob("*.pyx"))
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
            extra_compile_args=flags_of(source.stem),
            extra_link_args=link_flags,
            define_macros=macros,
        )
        for source in sources
    ]
    built: list[Extension] = cythonize(
        modules,
        nthreads=translators(),
        compiler_directives=DIRECTIVES,
    )
    return built


def say_untested() -> None:
    """Say on the build's output that this version of CPython is newer than the tested ones."""
    version, newest = (".".join(map(str, pair)) for pair in (sys.version_info[:2], NEWEST_TESTED))
    print(
        f"turbocql: CPython {version} is newer than those that this release was tested on (up to "
        f"{newest}); the extensions are built all the same. "
        "CASS_DRIVER_NO_EXTENSIONS=1 builds none.",
        file=sys.stderr,
    )


def say_pure(error: BaseException) -> None:
    """Say on the build's output that no extension is built, and why."""
    print(
        f"turbocql: the extensions cannot be built ({error}): the pure Python modules serve, "
        "at about a quarter of the speed. They need a C compiler and Python's headers "
        "(Debian: apt install build-essential python3-dev). "
        "CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST=1 makes this an error.",
        file=sys.stderr,
    )


class AllOrNone(build_ext):
    """Builds all extensions. If one fails, none is there, and the distribution is a pure one."""

    # What the build begins with: a source that is changed while it runs must count as changed.
    sources: list[str] | None = None

    def run(self) -> None:
        in_place = self.inplace  # setuptools forgets it while it builds
        try:
            super().run()
            if in_place and self.extensions and self.sources is not None:
                STAMPS["write_stamp"](self.sources)
        except Exception as error:  # distutils has many classes for a compiler that is not there
            if switched_on("CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST"):
                raise
            say_pure(error)
            # In the build folder, and in the tree if an earlier build left some there.
            for self.inplace in (0, in_place):
                for extension in self.extensions:
                    Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)
            Path("cassandra/_accel", STAMPS["STAMP"]).unlink(missing_ok=True)
            # What comes after this command must not look for them.
            self.extensions = []
            self.distribution.ext_modules = []


class HonestWheel(bdist_wheel):
    """A wheel that is tagged by what is in it: the extensions are built before its name is made."""

    def run(self) -> None:
        if not self.skip_build and self.distribution.ext_modules:
            self.run_command("build_ext")
            # A wheel whose extensions could not be built is good for every platform.
            self.root_is_pure = self.root_is_pure or not self.distribution.ext_modules
        super().run()


if __name__ == "__main__":
    AllOrNone.sources = STAMPS["source_lines"]()
    # `--parallel` on a command line goes before this.
    setup(
        ext_modules=extensions(),
        options={"build_ext": {"parallel": at_once()}},
        cmdclass={"build_ext": AllOrNone, "bdist_wheel": HonestWheel},
    )
