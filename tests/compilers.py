"""Builds the extensions with each installed C compiler, with warnings as errors, and uses them.

    python -m tests.compilers [--all] [--short] [NAME ...]

Current compilers refuse code for which older ones only gave a warning. Each compiler builds into
its own folder: ``cc``, GCC by version (Debian: gcc-12, gcc-14, ...), Clang, and the Clang of the
package ziglang. A new process must then import the built modules. If a kind of compiler is not
installed, the program prints this; with ``--all``, which releases use, it fails. With ``--short``,
each compiler compiles the C files without optimization, and nothing is linked or imported.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.building import copy_checkout, translate_sources

WARNINGS = (
    "-Wall -Werror -Werror=incompatible-pointer-types -Werror=int-conversion -Wno-unreachable-code"
)

# This program imports every compiled module, and uses the modules to bind and read one row.
SMOKE_TEST = """
import sys
from cassandra import _impl, implementation
assert implementation == "c", implementation
for name in _impl.TWINS:
    assert _impl.twin(name, "c").__name__ == f"cassandra._accel.{name}"
from cassandra.cqltypes import Int32Type, UTF8Type
from cassandra.protocol.column_specs import ColumnMetadata
columns = [ColumnMetadata("ks", "t", "k", Int32Type), ColumnMetadata("ks", "t", "v", UTF8Type)]
block = _impl.bind.BindPlan(columns, [0]).bind((7, "seven"), 5)
assert bytes(block.data) == b"\\0\\0\\0\\4\\0\\0\\0\\7\\0\\0\\0\\5seven", block.data
import cassandra.cluster
print("compiled, and in use:", cassandra.__path__[0])
"""


def gcc_major_version(version: str) -> int:
    """Return GCC's major version from the first line of ``--version``; 0 for other compilers."""
    match = re.search(r"(?:gcc|cc)\b.* (\d+)\.\d+\.\d+$", version)
    if match is None or "clang" in version:
        return 0
    return int(match[1])


# This maps each kind of compiler to a function that checks whether the first line of its
# ``--version`` belongs to that kind.
KINDS: dict[str, Callable[[str], bool]] = {
    "GCC before 14": lambda version: 0 < gcc_major_version(version) < 14,
    # GCC rejects incompatible pointer types since version 14.
    "GCC 14 or newer": lambda version: gcc_major_version(version) >= 14,
    "Clang": lambda version: "clang" in version,
}


def compilers() -> dict[str, str]:
    """Return the commands of the installed compilers, by the names that the command line uses."""
    names = ["cc", *(f"gcc-{version}" for version in range(12, 20)), "clang"]
    commands = {name: path for name in names if (path := shutil.which(name)) is not None}
    if importlib.util.find_spec("ziglang") is not None:
        commands["ziglang"] = f"{sys.executable} -m ziglang cc"
    return commands


def build_driver(command: str, folder: Path) -> Path:
    """Build the driver with one compiler in a copy of the checkout.

    :param command: the command of the compiler.
    :param folder: an empty folder for the copy.
    :returns: the folder that must be on the path in order to import the built driver.
    """
    copy_checkout(folder)
    subprocess.run(
        [sys.executable, "setup.py", "-q", "build", "--build-lib", "built"],
        cwd=folder,
        env={
            **os.environ,
            "CC": command,
            "CFLAGS": WARNINGS,
            "CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST": "1",
        },
        check=True,
    )
    return folder / "built"


def version_of(command: str) -> str:
    """Return the first line of a compiler's ``--version``; "?" if it prints nothing."""
    completed = subprocess.run(
        [*command.split(), "--version"], capture_output=True, text=True, check=False
    )
    lines = completed.stdout.splitlines()
    return lines[0] if lines else "?"


def compiles_without_warnings(name: str, command: str, sources: list[Path]) -> bool:
    """Compile the C files with one compiler.

    :returns: True if the compiler reports no error or warning.
    """
    print(f"{name}: {version_of(command)}", flush=True)
    include = sysconfig.get_path("include")
    # Compile to object files (-c). The option -fsyntax-only would be quicker, but zig ignores it.
    flags = [*WARNINGS.split(), "-O0", "-c", "-DNDEBUG", f"-I{include}"]

    def compiles(source: Path) -> bool:
        """Compile one C file, and return True if the compiler succeeds."""
        output = str(source.with_suffix(".o"))
        compile_command = [
            *command.split(),
            *flags,
            f"-I{source.parent}",
            str(source),
            "-o",
            output,
        ]
        return subprocess.run(compile_command, check=False).returncode == 0

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        # Put all results into a list first. `all` alone would stop at the first failure, and not
        # print the warnings of later files.
        return all(list(pool.map(compiles, sources)))


def compile_without_building(chosen: dict[str, str]) -> list[bool]:
    """Translate the Cython sources to C, and compile the C files with each chosen compiler.

    :param chosen: the commands of the compilers, by name.
    :returns: for each compiler, True if it reported no error or warning.
    """
    with tempfile.TemporaryDirectory() as folder:
        sources = translate_sources(Path(folder))
        return [
            compiles_without_warnings(name, command, sources) for name, command in chosen.items()
        ]


def builds_and_works(name: str, command: str) -> bool:
    """Build the driver with one compiler, and use its modules in a new process.

    :returns: True if both succeeded; False if one of them failed.
    """
    print(f"{name}: {version_of(command)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        try:
            built = build_driver(command, Path(folder))
            environment = {**os.environ, "PYTHONPATH": str(built), "CASS_DRIVER_IMPL": "c"}
            subprocess.run(
                [sys.executable, "-W", "error", "-c", SMOKE_TEST],
                cwd=built,
                env=environment,
                check=True,
            )
        except subprocess.CalledProcessError as error:
            print(f"{name}: failed: {error}", flush=True)
            return False
    return True


def main() -> None:
    """Check the compilers in the command line, or all installed compilers if it has no names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="cc, gcc-14, clang, ziglang; all by default")
    parser.add_argument("--all", action="store_true", help="fail if a kind is not here")
    parser.add_argument("--short", action="store_true", help="have the C files read, build nothing")
    options = parser.parse_args()
    requested_names = options.names
    commands = compilers()
    for name in set(requested_names) - set(commands):
        sys.exit(f"{name} is not here; found: {', '.join(commands) or 'none'}")
    chosen = {name: commands[name] for name in requested_names or commands}
    if not chosen:
        sys.exit("no C compiler is here (Debian: apt install build-essential python3-dev)")
    versions = [version_of(command) for command in commands.values()]
    missing = [kind for kind, matches in KINDS.items() if not any(map(matches, versions))]
    if missing:
        print(f"not here: {', '.join(missing)}", flush=True)
        if options.all:
            sys.exit("--all wants each kind of compiler")
    if options.short:
        outcomes = compile_without_building(chosen)
    else:
        outcomes = [builds_and_works(name, command) for name, command in chosen.items()]
    passed_count = sum(outcomes)
    print(f"{passed_count} passed, {len(outcomes) - passed_count} failed")
    sys.exit(not all(outcomes))


if __name__ == "__main__":
    main()
