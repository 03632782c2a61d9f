"""Starts PostgreSQL and Redis for a benchmark, from the programs in Debian's packages."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ADDRESS = "127.0.0.1"
START_TIMEOUT = 60.0  # seconds
STOP_TIMEOUT = 30.0  # seconds


def postgres_programs() -> Path | None:
    """Return the folder with the programs of the newest PostgreSQL, or None."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name)
    return next((folder for folder in reversed(folders) if (folder / "initdb").exists()), None)


def redis_program() -> str | None:
    """Return the path of the Redis server, or None if it is not installed."""
    return shutil.which("redis-server")


@contextlib.contextmanager
def running_postgres(folder: Path) -> Iterator[int]:
    """Run a PostgreSQL server with its files in `folder`, and yield its port."""
    programs = postgres_programs()
    assert programs is not None, "PostgreSQL is not installed"
    # PostgreSQL refuses to run as root. If we are root, run it as the user of its Debian package.
    user = "postgres" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
    if os.getuid() == 0:
        shutil.chown(folder, user)
    subprocess.run(
        [programs / "initdb", "-D", folder / "data", "-U", "bench", "-A", "trust", "-E", "UTF8"],
        check=True,
        stdout=subprocess.DEVNULL,
        user=user,
        cwd=folder,
    )
    port = _free_port()
    command = [programs / "postgres", "-D", folder / "data", "-p", port, "-k", folder]
    command += ["-c", f"listen_addresses={ADDRESS}", "-c", "fsync=off"]
    with _running([str(argument) for argument in command], port, user, folder):
        yield port


@contextlib.contextmanager
def running_redis(folder: Path) -> Iterator[int]:
    """Run a Redis server that writes nothing to disk, and yield its port."""
    program = redis_program()
    assert program is not None, "Redis is not installed"
    port = _free_port()
    command = [program, "--bind", ADDRESS, "--port", str(port), "--save", "", "--dir", str(folder)]
    with _running(command, port, None, folder):
        yield port


@contextlib.contextmanager
def _running(command: Sequence[str], port: int, user: str | None, folder: Path) -> Iterator[None]:
    """Run a server until the `with` block ends. Its output goes into the file ``output``.

    :param command: the command line of the server.
    :param port: the server's port; the block begins when the server accepts connections.
    :param user: the user who runs the server; None for the current user.
    :param folder: the server's working directory, which also gets the file ``output``.
    """
    with (folder / "output").open("wb") as output:
        server = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, user=user, cwd=folder
        )
    try:
        _wait_until_listening(port, server, folder / "output")
        yield
    finally:
        server.terminate()
        try:
            server.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait_until_listening(port: int, server: subprocess.Popen[bytes], output: Path) -> None:
    """Wait until the port accepts connections.

    :raises RuntimeError: if the server exits or takes too long; the message has its output.
    """
    deadline = time.monotonic() + START_TIMEOUT
    while server.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection((ADDRESS, port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"{server.args!r} does not listen: {output.read_text()[-2000:]}")


def _free_port() -> int:
    with socket.create_server((ADDRESS, 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
