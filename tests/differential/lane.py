"""Runs each program on three drivers side by side, against one node."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import selectors
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cassandra.cluster import Cluster, Session
from tests.differential.recorder import Recorder
from tests.differential.tables import Tables
from tests.programs.environments import ROOT, Program, clean_environment, with_control

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
# The pinned versions of the drivers that ours is compared with; differences are reported against
# the first.
CONTROLS = {"cassandra-driver": "3.30.1", "scylla-driver": "3.29.12"}
OURS = "turbocql"
# The programs bind numpy values, and the drivers use it if it is installed.
BESIDE = ("numpy==2.4.6",)
DEADLINE = 60.0  # seconds for one program
START = 60.0  # seconds until a worker has answered for the first time


def environments(folder: Path) -> dict[str, list[str]]:
    """Return the command that starts each driver's worker.

    :param folder: where the environments of the other drivers are created and kept.
    """
    commands = {}
    for name, version in CONTROLS.items():
        program = Program((), BESIDE, driver=f"{name}=={version}")
        environment = with_control(folder / f"{name}-{version}", program)
        commands[name] = [str(environment.python), str(HERE / "worker.py")]
    commands[OURS] = [sys.executable, str(HERE / "worker.py")]
    return commands


class Worker:
    """A process that runs programs with one driver, and is started again if it hangs.

    :param name: the driver. :param command: how the process is started. :param log: where its
    output goes.
    """

    def __init__(self, name: str, command: list[str], log: Path) -> None:
        self.name = name
        self._command = command
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            environment = clean_environment()
            environment["DIFFERENTIAL_PROGRAMS"] = str(PROGRAMS)
            environment["PYTHONHASHSEED"] = "0"  # so that sets have the same order in all processes
            environment["TZ"] = "America/New_York"  # so that local time is not UTC by chance
            if self.name == OURS:
                environment["PYTHONPATH"] = str(ROOT)
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    env=environment,
                    cwd=tempfile.gettempdir(),
                    bufsize=0,
                )
        return self._process

    def ask(self, order: dict[str, Any], deadline: float = DEADLINE) -> dict[str, Any]:
        """Return the answer to an order; an answer that says "hangs" or "died" if there is none."""
        process = self._started()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(order).encode() + b"\n")
            line = self._line(process, deadline)
        except (BrokenPipeError, TimeoutError) as error:
            line = b""
            why = "hangs" if isinstance(error, TimeoutError) else "died"
        else:
            why = "died"
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        self.close()
        return {"error": why}

    def _line(self, process: subprocess.Popen[bytes], deadline: float) -> bytes:
        assert process.stdout is not None
        parts: list[bytes] = []
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not parts or (parts[-1] and not parts[-1].endswith(b"\n")):
                if not selector.select(deadline):
                    raise TimeoutError
                parts.append(os.read(process.stdout.fileno(), 1 << 20))
        return b"".join(parts)

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@dataclass
class Module:
    """The programs of one file.

    :param name: the file's name. :param programs: the programs' names. :param tables: CQL that
    creates the tables that they share. :param own_keyspace: whether each program has a keyspace to
    itself. :param statements: whether the statements that the server receives are compared.
    """

    name: str
    programs: list[str]
    tables: list[str] = field(default_factory=list)
    own_keyspace: bool = False
    statements: bool = True


class Side:
    """One driver's worker, the recorder in front of the node, and its keyspaces.

    :param worker: the worker. :param recorder: the recorder between the worker and the node. :param
    session: the lane's direct session with the node. :param letter: the letter in the names of its
    keyspaces.
    """

    def __init__(self, worker: Worker, recorder: Recorder, session: Session, letter: str) -> None:
        self.worker = worker
        self._recorder = recorder
        self._session = session
        self._letter = letter
        self._tables = Tables(session)
        self._count = 0

    def run(self, module: Module, programs: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the outcome of each program of a module."""
        keyspace = None if module.own_keyspace else self._keyspace(module.tables)
        for program in programs:
            used = keyspace or self._keyspace(module.tables)
            yield program, self._outcome(module, program, used)
            if keyspace is None:
                self._drop(module, used)
        if keyspace is not None:
            self._drop(module, keyspace)

    def _keyspace(self, tables: list[str]) -> str:
        self._count += 1
        # The name is as long as those of the other drivers, and the same in all texts after
        # cleaning.
        name = f"ks{self._letter}{self._count:05}"
        self._session.execute(
            f"DROP KEYSPACE IF EXISTS {name}", timeout=60
        )  # left by a run that was interrupted
        self._session.execute(
            f"CREATE KEYSPACE {name} WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        )
        for text in tables:
            self._session.execute(text.replace("KS.", f"{name}."))
        return name

    def _drop(self, module: Module, keyspace: str) -> None:
        self.worker.ask({"do": "finish", "module": module.name, "keyspace": keyspace})
        self._session.execute(f"DROP KEYSPACE IF EXISTS {keyspace}", timeout=60)

    def _outcome(self, module: Module, program: str, keyspace: str) -> dict[str, Any]:
        self._recorder.taken()
        outcome = self.worker.ask(
            {
                "do": "run",
                "module": module.name,
                "program": program,
                "keyspace": keyspace,
                "host": "127.0.0.1",
                "port": self._recorder.port,
            }
        )
        statements = self._recorder.taken()
        if module.statements:
            outcome["statements"] = [statement.replace(keyspace, "KS") for statement in statements]
        outcome["tables"] = self._tables.of(keyspace, with_schema=module.own_keyspace)
        if not module.own_keyspace:
            self._tables.empty(keyspace)
        return outcome


class Lane:
    """All drivers side by side.

    :param address: the node. :param port: its port. :param commands: the command that starts each
    driver's worker, by the driver's name. :param folder: where the workers' logs go.
    """

    def __init__(
        self, address: str, port: int, commands: dict[str, list[str]], folder: Path
    ) -> None:
        self._stack = contextlib.ExitStack()
        self._cluster = self._stack.enter_context(Cluster([address], port=port))
        session = self._cluster.connect()
        session.default_timeout = 60.0
        self.sides = {}
        for letter, (name, command) in zip("abc", commands.items(), strict=True):
            recorder = self._stack.enter_context(Recorder((address, port)))
            worker = Worker(name, command, folder / f"{name}.log")
            self._stack.callback(worker.close)
            self.sides[name] = Side(worker, recorder, session, letter)

    def __enter__(self) -> Lane:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def modules(self) -> list[Module]:
        """Return all programs that there are."""
        result = []
        for path in sorted(PROGRAMS.glob("*.py")):
            answer = self.sides[OURS].worker.ask({"do": "list", "module": path.stem}, START)
            if "programs" not in answer:
                raise RuntimeError(f"{path} cannot be read: {answer}")
            result.append(Module(path.stem, **answer))
        return result

    def run(self, module: Module, programs: list[str]) -> dict[str, dict[str, dict[str, Any]]]:
        """Return the outcomes of programs, by program and driver."""
        outcomes: dict[str, dict[str, dict[str, Any]]] = {program: {} for program in programs}
        lock = threading.Lock()

        def one_side(name: str) -> None:
            for program, outcome in self.sides[name].run(module, programs):
                with lock:
                    outcomes[program][name] = outcome

        with ThreadPoolExecutor(len(self.sides)) as pool:
            for done in [pool.submit(one_side, name) for name in self.sides]:
                done.result()
        return {
            program: {name: by_side[name] for name in self.sides}
            for program, by_side in outcomes.items()
        }


def is_in_short_form(name: str, share: int) -> bool:
    """Return True for one of `share` programs; the choice is the same in each run."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % share == 0
