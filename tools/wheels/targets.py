"""The platforms that wheels are made for, and the interpreters."""

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
    """A platform.

    `triple` is the name that zig's compiler has for it. It is None if this machine's own compiler
    makes it. `tags` are those of a wheel, `suffix` is that of a module's file, `machine` the number
    of the processor in an ELF header, and `libc` the name of musl's library, if it is musl.
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
    """A version of CPython, by its headers.

    `python` is None if only headers of it are here: its wheels are made, and cannot be tried.
    """

    version: str
    include: Path
    python: Path | None

    @property
    def digits(self) -> str:
        """The version in tags: 313 for 3.13 and 3.13t."""
        return self.version.rstrip("t").replace(".", "")

    @property
    def abi(self) -> str:
        """The second part of a wheel's tag: cp313, or cp313t."""
        return f"cp{self.digits}{'t' if self.is_free_threaded else ''}"

    @property
    def is_free_threaded(self) -> bool:
        """Whether it is the build without the GIL."""
        return self.version.endswith("t")

    @property
    def defines(self) -> list[str]:
        """Flags of the compiler that say what the headers themselves may not.

        The headers of both builds of a version differ in this one definition.
        """
        return ["-DPy_GIL_DISABLED=1"] if self.is_free_threaded and self.python is None else []


def find(version: str, given: list[Path]) -> Interpreter | None:
    """Return a version of CPython with its headers, or None if it is not here.

    :param version: "3.13", or "3.13t" without the GIL.
    :param given: interpreters to look at first.
    """
    for path in [*given, *_places(version)]:
        include = _include(path, version)
        if include is not None:
            return Interpreter(version, include, path)
    if version.endswith("t"):
        headers = find(version[:-1], given)
        if headers is not None:
            return Interpreter(version, headers.include, None)
    return None


def elsewhere(version: str, target: Target) -> Path | None:
    """Return an interpreter of another platform that runs here, or None if there is none.

    `tools/build_python VERSION-musl` and `tools/foreign_python` make them.
    """
    if target.name == f"musl-{platform.machine()}":
        path = _cache() / f"python-{version}-musl" / "bin" / f"python{version}"
    else:
        path = _cache() / f"python-{target.name}" / "python"
    return path if path.exists() and _version(path) == version else None


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "turbocql"


def _places(version: str) -> list[Path]:
    """Return where an interpreter may be: beside the others, in pyenv's folder, in our cache."""
    name = f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT") or "~/.pyenv").expanduser() / "versions"
    found = [Path(sys.executable), _cache() / f"python-{version}" / "bin" / name]
    found += sorted(pyenv.glob(f"*/bin/{name}"))
    on_path = shutil.which(name)
    return [*found, Path(on_path)] if on_path else found


_FACTS = """
import sys, sysconfig
free = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
print("%d.%d%s" % (*sys.version_info[:2], free), sysconfig.get_path("include"), sep="\\n")
"""


def _facts(python: Path) -> list[str]:
    """Return an interpreter's version and the folder of its headers; nothing if it cannot run."""
    done = subprocess.run([str(python), "-c", _FACTS], capture_output=True, text=True, timeout=60)
    # Shims of version managers are there for versions that are not.
    return done.stdout.splitlines() if done.returncode == 0 else []


def _version(python: Path) -> str | None:
    return next(iter(_facts(python)), None)


def _include(python: Path, version: str) -> Path | None:
    """Return the folder of an interpreter's headers, or None if it is another version."""
    facts = _facts(python) if python.exists() else []
    if len(facts) != 2 or facts[0] != version:
        return None
    include = Path(facts[1])
    return include if (include / "Python.h").exists() else None
