"""The platforms and the versions of CPython that wheels are made for, and where to find them."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14", "3.15", "3.13t", "3.14t", "3.15t")


class Target(NamedTuple):
    """A platform that wheels are made for.

    - `triple`: the name of the platform for zig's compiler. None if this machine's compiler (gcc)
      is used.
    - `tags`: the platform tags of a wheel.
    - `suffix`: the last part of a compiled module's file name, before ``.so``.
    - `machine`: the number of the processor in an ELF header.
    - `libc`: the file name of musl's C library. None on glibc.
    """

    name: str
    triple: str | None
    tags: tuple[str, ...]
    suffix: str
    machine: int
    libc: str | None


X86_64, AARCH64 = 0x3E, 0xB7
_X86_64_TAGS = ("manylinux2014_x86_64", "manylinux_2_17_x86_64")
_AARCH64_TAGS = ("manylinux2014_aarch64", "manylinux_2_17_aarch64")

TARGETS = (
    Target("x86_64", None, _X86_64_TAGS, "x86_64-linux-gnu", X86_64, None),
    Target("aarch64", "aarch64-linux-gnu.2.17", _AARCH64_TAGS, "aarch64-linux-gnu", AARCH64, None),
    Target(
        "musl-x86_64", "x86_64-linux-musl", ("musllinux_1_2_x86_64",), "x86_64-linux-musl",
        X86_64, "libc.musl-x86_64.so.1",
    ),
    Target(
        "musl-aarch64", "aarch64-linux-musl", ("musllinux_1_2_aarch64",), "aarch64-linux-musl",
        AARCH64, "libc.musl-aarch64.so.1",
    ),
)  # fmt: skip


class Interpreter(NamedTuple):
    """A version of CPython and the folder of its headers.

    `python` is the path of its executable. It is None if only the headers are on this machine:
    wheels for this version can be made, but not run.
    """

    version: str
    include: Path
    python: Path | None

    @property
    def digits(self) -> str:
        """The version as it appears in tags: 313 for 3.13 and 3.13t."""
        return self.version.rstrip("t").replace(".", "")

    @property
    def abi(self) -> str:
        """The second part of a wheel's tag: cp313, or cp313t."""
        return f"cp{self.digits}{'t' if self.is_free_threaded else ''}"

    @property
    def is_free_threaded(self) -> bool:
        """True if this is a build without the GIL."""
        return self.version.endswith("t")

    @property
    def defines(self) -> list[str]:
        """The compiler flags that are needed if the headers are those of another build.

        For a build without the GIL, this machine may have only the headers of the build with the
        GIL. The headers of both builds differ only in the macro that this flag defines.
        """
        return ["-DPy_GIL_DISABLED=1"] if self.is_free_threaded and self.python is None else []


def find(version: str, preferred: list[Path]) -> Interpreter | None:
    """Return a version of CPython with its headers, or None if it is not on this machine.

    :param version: "3.13", or "3.13t" without the GIL.
    :param preferred: paths of interpreters to look at first.
    """
    for path in [*preferred, *_candidates(version)]:
        include = _include(path, version)
        if include is not None:
            return Interpreter(version, include, path)
    if version.endswith("t"):
        headers = find(version[:-1], preferred)
        if headers is not None:
            return Interpreter(version, headers.include, None)
    return None


def elsewhere(version: str, target: Target) -> Path | None:
    """Return an interpreter for another platform that this machine can run, or None.

    `tools/build_python VERSION-musl` builds an interpreter for musl, and `tools/foreign_python`
    provides an interpreter for aarch64, which runs in qemu.
    """
    if target.name == f"musl-{platform.machine()}":
        path = _cache() / f"python-{version}-musl" / "bin" / f"python{version}"
    else:
        path = _cache() / f"python-{target.name}" / "python"
    return path if path.exists() and _version(path) == version else None


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "turbocql"


def _candidates(version: str) -> list[Path]:
    """Return paths at which an interpreter may be: this one, our cache, pyenv's folder, PATH."""
    name = f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT") or "~/.pyenv").expanduser() / "versions"
    paths = [Path(sys.executable), _cache() / f"python-{version}" / "bin" / name]
    paths += sorted(pyenv.glob(f"*/bin/{name}"))
    on_path = shutil.which(name)
    return [*paths, Path(on_path)] if on_path else paths


_PRINT_VERSION_AND_HEADERS = """
import sys, sysconfig
free = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
print("%d.%d%s" % (*sys.version_info[:2], free), sysconfig.get_path("include"), sep="\\n")
"""


def _version_and_headers(python: Path) -> list[str]:
    """Return an interpreter's version and the folder of its headers; [] if it cannot run."""
    done = subprocess.run(
        [str(python), "-c", _PRINT_VERSION_AND_HEADERS], capture_output=True, text=True, timeout=60
    )
    # The program may fail: a version manager can have a shim (a start script) for a version that is
    # not installed.
    return done.stdout.splitlines() if done.returncode == 0 else []


def _version(python: Path) -> str | None:
    return next(iter(_version_and_headers(python)), None)


def _include(python: Path, version: str) -> Path | None:
    """Return the folder of an interpreter's headers.

    Return None if the interpreter has another version, or if its headers are not installed.
    """
    lines = _version_and_headers(python) if python.exists() else []
    if len(lines) != 2 or lines[0] != version:
        return None
    include = Path(lines[1])
    return include if (include / "Python.h").exists() else None
