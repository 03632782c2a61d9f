"""Builds the extensions. Everything else about the distribution is in pyproject.toml.

Each .pyx file under cassandra/_accel is built into one extension. The driver uses all extensions
or none. If one cannot be built (for example because there is no compiler), the build prints the
reason and goes on without any extension. The wheel then contains only Python modules and is tagged
``py3-none-any``, so that no installer caches it as a compiled wheel. The driver then logs a warning
at its first connect. Five environment variables change this:

CASS_DRIVER_NO_EXTENSIONS             build no extension at all
CASS_DRIVER_NO_CYTHON                 the same: every extension of this package is written in Cython
CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST fail the build if one extension cannot be built
CASS_DRIVER_SANITIZE                  build with sanitizers; for tests only (see tests/sanitize.py)
TURBOCQL_PLAIN_C                      build with only CPython's documented C API, which is slower
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

# The newest CPython that the tests have run on. On a newer CPython, the build prints a notice and
# still builds the extensions.
NEWEST_TESTED = (3, 15)

# Modules that run only once for a table or a schema. They are compiled with -O2, because -O3 would
# only make the build take longer.
COLD = ("arrow_capsules", "column_rows")

# Cython's directives for all modules; every tool that translates or builds them reads this table.
# Only `bind` and `codecs` override a directive (nonecheck) at the top of their files, and say why.
# Setting nonecheck here would also change the .pxd functions that these two share with other
# modules. Cython does not notice a change of this table: delete the .c files first.
DIRECTIVES: dict[str, bool | int] = {
    "language_level": 3,
    # With these checks, an index out of range and an attribute of None raise an exception.
    # Without them, they would read memory that belongs to something else.
    "boundscheck": True,
    "nonecheck": True,
    # No code uses negative indices; boundscheck rejects them.
    "wraparound": False,
    # This directive only affects typed memory views, which the modules do not use: they use
    # Py_buffer.
    "initializedcheck": False,
    # Every divisor is a constant or known not to be zero. C division rounds towards zero, so code
    # whose dividend may be negative (days, ticks) corrects the result to round down.
    "cdivision": True,
    # Give compiled functions signatures that `inspect` can read, like Python functions. So
    # docstrings need not repeat the signatures.
    "binding": True,
    "embedsignature": False,
    # Generated pickling code would copy pointers as numbers. Classes define their own pickling.
    "auto_pickle": False,
    # docs/twins.rst, section "Threads", says which thread writes which attribute under which lock.
    "freethreading_compatible": True,
}

# Functions that record which sources the compiled modules were built from. We run the file by its
# path: importing the package `cassandra` would load compiled modules of an earlier build.
STAMPS = runpy.run_path(str(Path(__file__).with_name("cassandra") / "_build_stamp.py"))

# The maximum number of modules that are built in parallel. Compiling one of the larger modules
# needs half a gigabyte of memory, and the largest module takes a third of the total time, so more
# processes would not finish earlier.
MOST_AT_ONCE = 4


def switched_on(name: str) -> bool:
    """Return True if the environment variable is set to 1, true, yes or on, in any case."""
    return os.environ.get(name, "").strip().lower() in ("1", "true", "yes", "on")


def at_once() -> int:
    """Return how many modules to build at the same time."""
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), MOST_AT_ONCE)
    return min(os.cpu_count() or 1, MOST_AT_ONCE)


def translators() -> int:
    """Return how many processes Cython should start; 0 translates in this process."""
    # Only Linux forks processes; on other systems, new processes would import this file again.
    if sys.platform != "linux":
        return 0
    try:
        # A pool of processes needs semaphores, and some sandboxes and containers have none.
        from multiprocessing import Lock

        Lock()
    except (ImportError, OSError):
        return 0
    return at_once()


def largest_first(sources: Iterable[Path]) -> list[Path]:
    """Return `sources` sorted by size, the largest first.

    If the largest file were compiled last, the other processors would be idle during that time.
    """

    def size(source: Path) -> int:
        # Most .pxi files are included by the .pyx file whose name they begin with.
        files = source.parent.glob(f"{source.stem}*.p[yx][xi]")
        return sum(file.stat().st_size for file in files)

    return sorted(sources, key=lambda source: (-size(source), source.name))


def flags_of(module: str) -> list[str]:
    """Return the C compiler's flags for a module. tools/build_wheels calls this function, too."""
    if switched_on("CASS_DRIVER_SANITIZE"):
        return ["-O1", "-g", "-fno-omit-frame-pointer", *SANITIZERS]
    if sys.platform == "win32":
        return ["/O2"]
    return ["-O2" if module in COLD else "-O3", "-g0", "-Wno-unreachable-code"]


# The versions of Cython whose code is wrong; pyproject.toml excludes them, too.
WRONG_CYTHON = "3.3."


def extensions() -> list[Extension]:
    """Translate the .pyx files with Cython, and return the extensions for setuptools to compile.

    Return an empty list if extensions are switched off, on PyPy, or if Cython cannot be imported.
    """
    must = switched_on("CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST")
    none = switched_on("CASS_DRIVER_NO_EXTENSIONS") or switched_on("CASS_DRIVER_NO_CYTHON")
    if none and must:
        sys.exit(
            "CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST contradicts "
            "CASS_DRIVER_NO_EXTENSIONS / CASS_DRIVER_NO_CYTHON"
        )
    if none or sys.implementation.name != "cpython":
        return []
    # Without Cython, install the pure Python version, unless the extensions are required.
    try:
        import Cython
        from Cython.Build import cythonize

        if getattr(Cython, "__version__", "").startswith(WRONG_CYTHON):
            # This also happens with --no-build-isolation, where pip does not choose the version.
            raise ImportError(
                f"Cython {Cython.__version__} generates code that frees an object twice after a "
                "MemoryError in a list comprehension: pip install 'Cython>=3.1,<3.3'"
            )
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
    # Build an extension from each .pyx file. Rebuild it if a .pxd, .pxi or .h file changes.
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
    """Print to stderr that this version of CPython is newer than the tested ones."""
    version, newest = (".".join(map(str, pair)) for pair in (sys.version_info[:2], NEWEST_TESTED))
    print(
        f"turbocql: CPython {version} is newer than those that this release was tested on (up to "
        f"{newest}); the extensions are built all the same. "
        "CASS_DRIVER_NO_EXTENSIONS=1 builds none.",
        file=sys.stderr,
    )


def say_pure(error: BaseException) -> None:
    """Print to stderr that no extension is built, and why."""
    print(
        f"turbocql: the extensions cannot be built ({error}): the pure Python modules serve, "
        "at about a quarter of the speed. They need a C compiler and Python's headers "
        "(Debian: apt install build-essential python3-dev). "
        "CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST=1 makes this an error.",
        file=sys.stderr,
    )


class AllOrNone(build_ext):
    """Builds all extensions; if one fails, deletes the others, so that the wheel is pure Python."""

    # The size and digest of each source before the build. The stamp stores these, so that a source
    # that is edited during the build counts as changed afterwards.
    sources: list[str] | None = None

    def run(self) -> None:
        in_place = self.inplace  # setuptools resets this attribute while it builds
        try:
            super().run()
            if in_place and self.extensions and self.sources is not None:
                STAMPS["write_stamp"](self.sources)
        except Exception as error:  # distutils raises many classes if there is no compiler
            if switched_on("CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST"):
                raise
            say_pure(error)
            # Delete compiled modules from the build folder (0), and from the source tree, where an
            # earlier build may have left some. `get_ext_fullpath` reads `self.inplace`.
            for self.inplace in (0, in_place):
                for extension in self.extensions:
                    Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)
            Path("cassandra/_accel", STAMPS["STAMP"]).unlink(missing_ok=True)
            # Later commands must not look for the modules that were not built.
            self.extensions = []
            self.distribution.ext_modules = []


class HonestWheel(bdist_wheel):
    """Builds the extensions before choosing the wheel's tag, so that the tag fits the contents."""

    def run(self) -> None:
        if not self.skip_build and self.distribution.ext_modules:
            self.run_command("build_ext")
            # If the extensions could not be built, the wheel runs on every platform.
            self.root_is_pure = self.root_is_pure or not self.distribution.ext_modules
        super().run()


if __name__ == "__main__":
    AllOrNone.sources = STAMPS["source_lines"]()
    # `--parallel` on the command line takes precedence over this default.
    setup(
        ext_modules=extensions(),
        options={"build_ext": {"parallel": at_once()}},
        cmdclass={"build_ext": AllOrNone, "bdist_wheel": HonestWheel},
    )
