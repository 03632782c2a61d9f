"""Each wheel is looked at before anybody gets it."""

from __future__ import annotations

import subprocess
import tempfile
import time
import zipfile
from pathlib import Path

from wheels.targets import Interpreter, Target

LARGEST = 4_000_000
SOURCES = (".c", ".h", ".pxd", ".pxi", ".pyc", ".pyx")


def check_contents(wheel: Path, modules: set[str]) -> None:
    """Look at a wheel's size and the names in it.

    :param modules: the names of the compiled modules' files; empty for a pure wheel.
    :raises ValueError: if something is wrong.
    """
    size = wheel.stat().st_size
    if size > LARGEST:
        raise ValueError(f"{wheel.name} has {size} bytes; at most {LARGEST} were expected")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    strange = [
        name
        for name in names
        if name.endswith(SOURCES)
        or not name.startswith(("cassandra/", "turbocql-", "turbocql_pytest.py"))
    ]
    if strange:
        raise ValueError(f"{wheel.name} has {', '.join(strange[:5])}, which are no part of a wheel")
    found = {name.rpartition("/")[2] for name in names if name.endswith(".so")}
    if found != modules:
        raise ValueError(f"{wheel.name} lacks or adds modules: {sorted(found ^ modules)}")


def check_machine(module: Path, target: Target) -> None:
    """Look at the processor that a compiled module is for.

    :raises ValueError: if it is another one.
    """
    head = module.read_bytes()[:20]
    machine = int.from_bytes(head[18:20], "little")
    if head[:4] != b"\x7fELF" or machine != target.machine:
        raise ValueError(f"{module.name} is for processor {machine:#x}, not {target.machine:#x}")


def check_platform(wheel: Path, target: Target, python: Path) -> None:
    """Ask auditwheel whether the wheel runs on all systems that its tags name.

    :param python: an interpreter that has auditwheel.
    :raises ValueError: if it does not.
    """
    done = subprocess.run(
        [str(python), "-m", "auditwheel", "show", str(wheel)], capture_output=True, text=True
    )
    told = " ".join(done.stdout.split())
    best = target.tags[-1]
    # It may be good for still older systems than the tags say.
    good = f'platform tag: "{best}"' in told or any(
        f'platform tag: "{older}' in told
        for older in ("manylinux_2_5", "manylinux_2_12")
        if best.startswith("manylinux")
    )
    if done.returncode or not good:
        raise ValueError(f"auditwheel on {wheel.name}: {told or done.stderr.strip()}")


def check_metadata(files: list[Path], python: Path) -> None:
    """Ask twine whether an index would take the files.

    :raises ValueError: if it would not.
    """
    done = subprocess.run(
        [str(python), "-m", "twine", "check", "--strict", *map(str, files)],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise ValueError(f"twine: {done.stdout.strip()} {done.stderr.strip()}")


def check_working(wheel: Path, interpreter: Interpreter, implementation: str) -> float:
    """Install the wheel where there is no compiler, and use it.

    :param interpreter: the one that it is for; it has to be here.
    :param implementation: "c" or "python", which the driver has to say of itself.
    :return: the seconds that pip took.
    :raises ValueError: if it cannot be installed or does not work.
    """
    smoke = Path(__file__).with_name("smoke.py")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        run = [str(interpreter.python), "-m", "venv", str(home)]
        subprocess.run(run, check=True, capture_output=True)
        # No compiler, no Cython, no other package: what is on this path is all there is.
        alone = {"PATH": str(home / "bin"), "HOME": folder}
        python = str(home / "bin" / "python")
        # The one dependency first: the time is the wheel's.
        install = [python, "-m", "pip", "install", "-q", "--only-binary", ":all:"]
        _run([*install, "geomet"], alone, f"pip install geomet for {wheel.name}")
        begun = time.perf_counter()
        _run([*install, "--no-deps", str(wheel)], alone, f"pip install {wheel.name}")
        seconds = time.perf_counter() - begun
        _run([python, "-I", str(smoke), implementation], alone, wheel.name)
    return seconds


def check_elsewhere(wheel: Path, runner: Path) -> None:
    """Use a compiled wheel of another platform by an interpreter that runs here all the same.

    :param wheel: the wheel; it is unpacked, not installed.
    :param runner: starts the interpreter: by qemu, or on musl.
    :raises ValueError: if it does not work.
    """
    smoke = Path(__file__).with_name("smoke.py")
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        alone = {"PATH": "/usr/bin:/bin", "HOME": folder, "PYTHONPATH": folder}
        _run([str(runner), str(smoke), "c"], alone, wheel.name)


def _run(command: list[str], environment: dict[str, str], what: str) -> None:
    done = subprocess.run(
        command, env=environment, cwd="/", capture_output=True, text=True, timeout=300
    )
    if done.returncode:
        raise ValueError(f"{what}: {(done.stderr or done.stdout).strip()[-2000:]}")
