"""Runs the unit tests of the compiled modules with AddressSanitizer and UBSan.

    python -m tests.sanitize [--keep FOLDER] [--weekly] [arguments of pytest]

The program builds the modules with CASS_DRIVER_SANITIZE=1 in a copy of the checkout. The
interpreter itself is an ordinary one: the dynamic linker loads the sanitizers' libraries before it.
Python's own allocator is off, because its arenas would hide overruns. Leaks are not reported,
because an interpreter does not free everything when it ends. The first finding ends the run.

With ``--weekly``, the program runs the unit tests of every package that uses compiled code,
including both APIs and the mapper, and then the fuzzers for `FUZZ_SECONDS`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.building import copy_checkout

TESTS = [
    f"tests/unit/{name}"
    for name in (
        "aio/test_concurrent.py",
        "bulk",
        "cqltypes",
        "engine/pools/test_shard_table.py",
        "engine/test_awaited.py",
        "engine/test_awaited_happy_path.py",
        "engine/test_collector.py",
        "engine/test_happy_path.py",
        "engine/test_happy_path_direct_requests.py",
        "engine/test_events.py",
        "engine/test_profile.py",
        "engine/test_stream_table.py",
        "engine/test_timer_wheel.py",
        "metadata/placement/test_ring.py",
        "metadata/placement/test_tablets.py",
        "metadata/schema/test_column_rows.py",
        "policies/test_plans.py",
        "protocol",
        "query/tables/test_column_binding.py",
        "query/test_binding.py",
        "test_bases.py",
        "test_bases_in_programs.py",
        "test_careless_callers.py",
        "test_compiled_objects.py",
        "test_fuzz.py",
        "test_limits.py",
        "test_murmur3.py",
        "test_twins.py",
    )
]

# These are whole packages of tests/unit, and the modules of TESTS that belong to none of them.
WEEKLY = [
    *(
        f"tests/unit/{package}"
        for package in (
            "aio",
            "bulk",
            "client",
            "cluster",
            "column_encryption",
            "cqlengine",
            "cqltypes",
            "drop_in",
            "engine",
            "faults",
            "metadata",
            "policies",
            "protocol",
            "query",
            "scylla",
            "security",
            "util",
        )
    ),
    *(name for name in TESTS if name.count("/") == 2 and name.endswith(".py")),
]
FUZZ_SECONDS = 600


def sanitizer_libraries(compiler: str) -> list[str]:
    """Return the paths of the compiler's sanitizer libraries.

    If one of them is missing, exit with a message.
    """
    paths = []
    for name in ("libasan.so", "libubsan.so"):
        result = subprocess.run(
            [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=False
        )
        path = result.stdout.strip()
        # For a library that is not installed, the compiler prints only its bare name.
        if result.returncode or not os.path.isabs(path):
            sys.exit(
                f"no sanitizer here: {compiler} has no {name}; nothing was tested. GCC on Linux has both."  # noqa: E501
            )
        paths.append(os.path.realpath(path))
    return paths


def sanitizer_environment(preloaded: list[str]) -> dict[str, str]:
    """Return the environment variables for running tests with sanitized modules.

    :param preloaded: the paths of the sanitizer libraries.
    """
    return {
        **os.environ,
        "LD_PRELOAD": " ".join(preloaded),
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        "TURBOCQL_LANE": "c",
        "CASS_DRIVER_IMPL": "c",
    }


def main() -> int:
    """Build the modules, run the tests, and return the exit status of the tests."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--keep", type=Path, default=None, help="where to build, for another look afterwards"
    )
    parser.add_argument(
        "--weekly", action="store_true", help="all packages with compiled code, and the fuzzers"
    )
    options, pytest_arguments = parser.parse_known_args()
    compiler = os.environ.get("CC", "gcc").split()[0]
    if shutil.which(compiler) is None:
        sys.exit(f"no sanitizer here: there is no compiler {compiler!r}; nothing was tested")
    preloaded = sanitizer_libraries(compiler)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        copy_checkout(folder)
        build_environment = {
            "CASS_DRIVER_SANITIZE": "1",
            "CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST": "1",
            "CC": compiler,
        }
        subprocess.run(
            [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
            cwd=folder,
            env={**os.environ, **build_environment},
            check=True,
        )
        pytest_command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            *(pytest_arguments or (WEEKLY if options.weekly else TESTS)),
        ]
        commands = [pytest_command]
        if options.weekly:
            fuzz_command = [sys.executable, "-m", "tests.fuzz", "--seconds", str(FUZZ_SECONDS)]
            commands.append([*fuzz_command, "--impl", "c"])
        for arguments in commands:
            result = subprocess.run(
                arguments, cwd=folder, env=sanitizer_environment(preloaded), check=False
            )
            if result.returncode:
                return result.returncode
        return 0


if __name__ == "__main__":
    sys.exit(main())
