"""Builds the extensions with each C compiler that is here, warnings being errors, and uses them.

Current compilers refuse what older ones only warned of. Each compiler that is found builds into a
folder of its own: ``cc``, GCC by version (Debian: gcc-12, gcc-14, ...), Clang, and the Clang of the
package ziglang. What was built must be what a process then runs on. A compiler that is not here is
named; that none is here is an error.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("cassandra", "setup.py", "pyproject.toml", "README.rst", "LICENSE", "turbocql_pytest.py")
WARNINGS = (
    "-Wall -Werror -Werror=incompatible-pointer-types -Werror=int-conversion -Wno-unreachable-code"
)

# Imports every compiled module, and binds and reads one row with them.
SMOKE = """
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


def compilers() -> dict[str, str]:
    """Return the command of each compiler that is here, by its name."""
    names = ["cc", *(f"gcc-{version}" for version in range(12, 20)), "clang"]
    found = {name: path for name in names if (path := shutil.which(name)) is not None}
    if importlib.util.find_spec("ziglang") is not None:
        found["ziglang"] = f"{sys.executable} -m ziglang cc"
    return found


def build(command: str, folder: Path) -> Path:
    """Build the package in a copy of the tree; return the folder to import it from."""
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            ignored = shutil.ignore_patterns("*.so", "*.c", "*.pyc", "__pycache__")
            shutil.copytree(source, folder / part, ignore=ignored)
        else:
            shutil.copy(source, folder)
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


def check(name: str, command: str) -> bool:
    """Build with one compiler and use what it made; return True if all went well."""
    version = subprocess.run(
        [*command.split(), "--version"], capture_output=True, text=True, check=False
    )
    print(f"{name}: {(version.stdout.splitlines() or ['?'])[0]}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        try:
            built = build(command, Path(folder))
            environment = {**os.environ, "PYTHONPATH": str(built), "CASS_DRIVER_IMPL": "c"}
            subprocess.run(
                [sys.executable, "-W", "error", "-c", SMOKE],
                cwd=built,
                env=environment,
                check=True,
            )
        except subprocess.CalledProcessError as error:
            print(f"{name}: failed: {error}", flush=True)
            return False
    return True


def main() -> None:
    """Try every compiler, or the ones that are named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="cc, gcc-14, clang, ziglang; all by default")
    names = parser.parse_args().names
    found = compilers()
    for name in set(names) - set(found):
        sys.exit(f"{name} is not here; found: {', '.join(found) or 'none'}")
    chosen = {name: found[name] for name in names or found}
    if not chosen:
        sys.exit("no C compiler is here (Debian: apt install build-essential python3-dev)")
    outcomes = [check(name, command) for name, command in chosen.items()]
    print(f"{sum(outcomes)} passed, {len(outcomes) - sum(outcomes)} failed")
    sys.exit(not all(outcomes))


if __name__ == "__main__":
    main()
