"""Checks of wheels before they are uploaded: contents, processor, platform, and a trial run."""

from __future__ import annotations

import subprocess
import tempfile
import time
import zipfile
from pathlib import Path

from wheels.targets import Interpreter, Target

LARGEST = 4_000_000  # the most bytes of a wheel
SOURCES = (".c", ".h", ".pxd", ".pxi", ".pyc", ".pyx")


def check_contents(wheel: Path, modules: set[str]) -> None:
    """Check a wheel's size and the names of its files.

    :param modules: the file names of the compiled modules that it must have; empty for a pure
        wheel.
    :raises ValueError: if the wheel is too large, has files that do not belong into a wheel, or
        has other compiled modules.
    """
    size = wheel.stat().st_size
    if size > LARGEST:
        raise ValueError(f"{wheel.name} has {size} bytes; at most {LARGEST} were expected")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    # A wheel must have no sources of C or Cython, no .pyc files, and no files of other packages.
    unexpected_names = [
        name
        for name in names
        if name.endswith(SOURCES)
        or not name.startswith(("cassandra/", "turbocql-", "turbocql_pytest.py"))
    ]
    if unexpected_names:
        raise ValueError(
            f"{wheel.name} has {', '.join(unexpected_names[:5])}, which are no part of a wheel"
        )
    present_modules = {name.rpartition("/")[2] for name in names if name.endswith(".so")}
    if present_modules != modules:
        raise ValueError(f"{wheel.name} lacks or adds modules: {sorted(present_modules ^ modules)}")


def check_machine(module: Path, target: Target) -> None:
    """Check that a compiled module is an ELF file for the target's processor.

    :raises ValueError: if it is not.
    """
    # e_machine, the number of the processor, is at offset 18 of an ELF header.
    head = module.read_bytes()[:20]
    machine = int.from_bytes(head[18:20], "little")
    if head[:4] != b"\x7fELF" or machine != target.machine:
        raise ValueError(f"{module.name} is for processor {machine:#x}, not {target.machine:#x}")


def check_platform(wheel: Path, target: Target, python: Path) -> None:
    """Ask auditwheel whether the wheel runs on all systems that its tags name.

    :param python: an interpreter that has auditwheel.
    :raises ValueError: if the wheel does not run on all of these systems.
    """
    result = subprocess.run(
        [str(python), "-m", "auditwheel", "show", str(wheel)], capture_output=True, text=True
    )
    output = " ".join(result.stdout.split())
    expected_tag = target.tags[-1]
    # If the wheel also runs on older systems than its tags say, auditwheel names the older systems.
    # Accept this output, too.
    is_accepted = f'platform tag: "{expected_tag}"' in output or any(
        f'platform tag: "{older}' in output
        for older in ("manylinux_2_5", "manylinux_2_12")
        if expected_tag.startswith("manylinux")
    )
    if result.returncode or not is_accepted:
        raise ValueError(f"auditwheel on {wheel.name}: {output or result.stderr.strip()}")


def check_metadata(files: list[Path], python: Path) -> None:
    """Ask twine whether a package index would accept the files.

    :param python: an interpreter that has twine.
    :raises ValueError: if it would not.
    """
    result = subprocess.run(
        [str(python), "-m", "twine", "check", "--strict", *map(str, files)],
        capture_output=True,
        text=True,
    )
    if result.returncode:
        raise ValueError(f"twine: {result.stdout.strip()} {result.stderr.strip()}")


def check_working(wheel: Path, interpreter: Interpreter, implementation: str) -> float:
    """Install the wheel into a new environment without a compiler, and run smoke.py there.

    :param interpreter: the interpreter that the wheel is for; its `python` must not be None.
    :param implementation: "c" or "python": what `cassandra.implementation` must be.
    :return: the seconds that pip took.
    :raises ValueError: if it cannot be installed or does not work.
    """
    smoke = Path(__file__).with_name("smoke.py")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        run = [str(interpreter.python), "-m", "venv", str(home)]
        subprocess.run(run, check=True, capture_output=True)
        # With this PATH, no compiler, Cython or other package of this machine can be found.
        environment = {"PATH": str(home / "bin"), "HOME": folder}
        python = str(home / "bin" / "python")
        # Install the wheel's only dependency before, so that its time is not measured.
        install = [python, "-m", "pip", "install", "-q", "--only-binary", ":all:"]
        _run([*install, "geomet"], environment, f"pip install geomet for {wheel.name}")
        begun = time.perf_counter()
        _run([*install, "--no-deps", str(wheel)], environment, f"pip install {wheel.name}")
        seconds = time.perf_counter() - begun
        _run([python, "-I", str(smoke), implementation], environment, wheel.name)
    return seconds


def check_elsewhere(wheel: Path, runner: Path) -> None:
    """Run smoke.py on a compiled wheel for another platform, with an emulated or musl interpreter.

    :param wheel: the wheel; it is unpacked, not installed.
    :param runner: the program that starts such an interpreter (see `targets.elsewhere`).
    :raises ValueError: if it does not work.
    """
    smoke = Path(__file__).with_name("smoke.py")
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        environment = {"PATH": "/usr/bin:/bin", "HOME": folder, "PYTHONPATH": folder}
        _run([str(runner), str(smoke), "c"], environment, wheel.name)


def _run(command: list[str], environment: dict[str, str], what: str) -> None:
    """Run a command; ValueError, which names `what` and shows the output, if it fails."""
    process = subprocess.run(
        command, env=environment, cwd="/", capture_output=True, text=True, timeout=300
    )
    if process.returncode:
        output = (process.stderr or process.stdout).strip()
        raise ValueError(f"{what}: {output[-2000:]}")
