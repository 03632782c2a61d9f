"""Runs `tests.stress.threads`, in which threads share objects, under ThreadSanitizer.

    python -m tests.races [--threads 4] [--minutes 2]

The interpreter has no GIL. The interpreter and the compiled modules are built with
``-fsanitize=thread``. `tools/build_python` builds the interpreter in the first run, which takes ten
minutes. This program builds the modules in a copy of the checkout. The sanitizer makes everything
at least ten times slower, but it reports a race even if the two threads did not run the code at the
same moment. The exit status is not 0 if the sanitizer reports a race.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.building import HOME, translate_sources

VERSION = "3.14t-tsan"
FLAGS = ("-fsanitize=thread", "-shared", "-fPIC", "-O1", "-g", "-fno-omit-frame-pointer", "-w")


def sanitized_interpreter() -> str:
    """Return the path of the interpreter with ThreadSanitizer, which is built if necessary."""
    completed = subprocess.run(
        [str(HOME / "tools" / "build_python"), VERSION],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if completed.returncode:
        sys.exit(f"no interpreter with a sanitizer could be built: {completed.returncode}")
    return completed.stdout.split()[-1]


def without_address_randomization() -> list[str]:
    """Return the first words of a command that switches address space layout randomization off.

    ThreadSanitizer needs fixed addresses. The list is empty if ``setarch`` is not installed.
    """
    command = shutil.which("setarch")
    return [command, "-R"] if command is not None else []


def build_modules(python: str, folder: Path) -> None:
    """Build the compiled modules with ThreadSanitizer.

    :param python: the path of the interpreter that will use them.
    :param folder: a folder for the copy of the checkout, which will contain the modules.
    """
    sources = translate_sources(folder)
    # This program prints the folder of that interpreter's headers, and its suffix of extensions.
    code = (
        "import sysconfig as s; print(s.get_path('include')); print(s.get_config_var('EXT_SUFFIX'))"
    )
    include, suffix = subprocess.run(
        [*without_address_randomization(), python, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.split()
    compiler = os.environ.get("CC", "gcc").split()
    package = folder / "cassandra" / "_accel"

    def compile_module(source: Path) -> None:
        """Compile one C file into an extension module."""
        output = package / (source.stem + suffix)
        includes = [f"-I{include}", f"-I{package}"]
        command = [*compiler, *FLAGS, *includes, str(source), "-o", str(output)]
        subprocess.run(command, check=True)

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        # `list` raises the error of a failed module.
        list(pool.map(compile_module, sources))


def main() -> int:
    """Build the modules, run the threads, and return their exit status.

    The status is 66 if there was a race.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--keep", type=Path, help="where to build, for another look afterwards")
    options = parser.parse_args()
    if not sysconfig.get_platform().startswith("linux"):
        sys.exit("ThreadSanitizer is used on Linux alone; nothing was tested")
    python = sanitized_interpreter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        build_modules(python, folder)
        stress = ["tests.stress.threads", "--threads", str(options.threads)]
        result = subprocess.run(
            [
                *without_address_randomization(),
                python,
                "-m",
                *stress,
                "--minutes",
                str(options.minutes),
            ],
            cwd=folder,
            env={
                **os.environ,
                "PYTHONPATH": str(folder),
                "PYTHON_GIL": "0",
                "CASS_DRIVER_IMPL": "c",
                "TSAN_OPTIONS": "history_size=4:exitcode=66",
            },
            check=False,
        )
    print(f"{int(not result.returncode)} passed, {int(bool(result.returncode))} failed", flush=True)
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
