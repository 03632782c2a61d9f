"""Runs each program with three drivers at the same time, against one node.

A program is a function in the folder programs/. A `Lane` has a `Side` for each driver. A side
consists of a worker (a process with the driver), a recorder (a relay between worker and node that
records requests), and its own keyspaces. The sides run the same programs, and return outcomes that
`tests.differential.compare` compares.
"""

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
# The drivers that turbocql is compared with, and their versions. Differences are reported against
# the first driver.
CONTROLS = {"cassandra-driver": "3.30.1", "scylla-driver": "3.29.12"}
OURS = "turbocql"  # the name of the driver under test
# Further packages in each environment. Some programs bind NumPy values, and drivers use NumPy if it
# is installed.
BESIDE = ("numpy==2.4.6",)
DEADLINE = 60.0  # seconds within which a program must end
START = 60.0  # seconds within which a new worker must give its first answer


def environments(folder: Path) -> dict[str, list[str]]:
    """Create the environments of the other drivers.

    :param folder: where the environments are kept.
    :returns: for each driver, by name, the command that starts a worker with the driver.
    """
    commands = {}
    for name, version in CONTROLS.items():
        program = Program((), BESIDE, driver=f"{name}=={version}")
        environment = with_control(folder / f"{name}-{version}", program)
        commands[name] = [str(environment.python), str(HERE / "worker.py")]
    commands[OURS] = [sys.executable, str(HERE / "worker.py")]
    return commands


class Worker:
    """A process that runs programs with one driver, and is restarted if it hangs or dies.

    :param name: the driver.
    :param command: the command that starts the process.
    :param log: the file for the standard error of the process.
    """

    def __init__(self, name: str, command: list[str], log: Path) -> None:
        self.name = name
        self._command = command
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def _started(self) -> subprocess.Popen[bytes]:
        """Return the process of the worker; start the process if necessary."""
        if self._process is None:
            environment = clean_environment()
            environment["DIFFERENTIAL_PROGRAMS"] = str(PROGRAMS)
            environment["PYTHONHASHSEED"] = "0"  # so that sets have the same order in all processes
            environment["TZ"] = "America/New_York"  # a time zone that differs from UTC
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
        """Send an order to the process, and return the answer.

        If the process does not answer within `deadline` seconds, or dies, the method ends the
        process, and returns {"error": "hangs"} or {"error": "died"}.

        :param order: see the module docstring of `tests.differential.worker`.
        :param deadline: seconds.
        """
        process = self._started()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(order).encode() + b"\n")
            line = self._line(process, deadline)
        except (BrokenPipeError, TimeoutError) as error:
            line = b""
            reason = "hangs" if isinstance(error, TimeoutError) else "died"
        else:
            reason = "died"
        # The line is empty if the process hangs or has ended.
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        self.close()
        return {"error": reason}

    def _line(self, process: subprocess.Popen[bytes], deadline: float) -> bytes:
        """Read a line of the process's output.

        :param deadline: seconds to wait for each part of the line.
        :returns: an incomplete line if the process ends before the line is complete.
        :raises TimeoutError: if no further part comes in time.
        """
        assert process.stdout is not None
        chunks: list[bytes] = []
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not chunks or (chunks[-1] and not chunks[-1].endswith(b"\n")):
                if not selector.select(deadline):
                    raise TimeoutError
                chunks.append(os.read(process.stdout.fileno(), 1 << 20))
        return b"".join(chunks)

    def close(self) -> None:
        """Close the pipes of the process, so that it ends; if it runs for 5 s more, kill it."""
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

    :param name: the file's name.
    :param programs: the names of the programs.
    :param tables: CQL that creates the tables that the programs share.
    :param own_keyspace: True if each program gets a new keyspace; False if all share one keyspace.
    :param statements: True if the requests that the node receives are compared, too.
    """

    name: str
    programs: list[str]
    tables: list[str] = field(default_factory=list)
    own_keyspace: bool = False
    statements: bool = True


class Side:
    """Runs programs with one driver, in keyspaces that no other driver uses.

    :param worker: the process that runs the programs with the driver.
    :param recorder: the relay between the worker and the node, which records the requests.
    :param session: a session of the test process, with the driver under test. It creates keyspaces
        and reads tables, and all sides share it.
    :param letter: a letter in the names of the keyspaces, different for each driver.
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
        # Each program that changes the schema gets its own keyspace. Other programs share the
        # keyspace of their module, whose tables are emptied after each program.
        if module.own_keyspace:
            for program in programs:
                program_keyspace = self._create_keyspace(module.tables)
                yield program, self._outcome(module, program, program_keyspace)
                self._drop(module, program_keyspace)
        else:
            module_keyspace = self._create_keyspace(module.tables)
            for program in programs:
                yield program, self._outcome(module, program, module_keyspace)
            self._drop(module, module_keyspace)

    def _create_keyspace(self, tables: list[str]) -> str:
        """Create a keyspace with tables, and return its name.

        :param tables: CREATE statements, in which "KS." stands for the keyspace.
        """
        self._count += 1
        # Each driver has its own keyspace names, so outcomes contain "KS" instead of the name. All
        # names have the same length.
        name = f"ks{self._letter}{self._count:05}"
        # An earlier run that was interrupted may have left a keyspace of this name.
        self._session.execute(f"DROP KEYSPACE IF EXISTS {name}", timeout=60)
        self._session.execute(
            f"CREATE KEYSPACE {name} WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        )
        for statement in tables:
            self._session.execute(statement.replace("KS.", f"{name}."))
        return name

    def _drop(self, module: Module, keyspace: str) -> None:
        """Let the worker close the keyspace's shared session, and drop the keyspace."""
        self.worker.ask({"do": "finish", "module": module.name, "keyspace": keyspace})
        self._session.execute(f"DROP KEYSPACE IF EXISTS {keyspace}", timeout=60)

    def _outcome(self, module: Module, program: str, keyspace: str) -> dict[str, Any]:
        """Run one program; return what it recorded, its requests, and the rows that it wrote."""
        self._recorder.take_requests()  # drop the requests that were made before the program
        outcome = self.worker.ask(
            {
                "do": "run",
                "module": module.name,
                "program": program,
                "keyspace": keyspace,
                "host": self._recorder.host,
                "port": self._recorder.port,
            }
        )
        statements = self._recorder.take_requests()
        if module.statements:
            outcome["statements"] = [statement.replace(keyspace, "KS") for statement in statements]
        outcome["tables"] = self._tables.of(keyspace, with_schema=module.own_keyspace)
        if not module.own_keyspace:
            self._tables.empty(keyspace)
        return outcome


class Lane:
    """The sides of all drivers, which run the same programs at the same time.

    :param address: the node's address.
    :param port: the node's port.
    :param commands: the command for each driver's worker, by the driver's name.
    :param folder: the folder for the workers' logs.
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
        """Return the programs of all files in programs/."""
        modules = []
        for path in sorted(PROGRAMS.glob("*.py")):
            answer = self.sides[OURS].worker.ask({"do": "list", "module": path.stem}, START)
            if "programs" not in answer:
                raise RuntimeError(f"{path} cannot be read: {answer}")
            modules.append(Module(path.stem, **answer))
        return modules

    def run(self, module: Module, programs: list[str]) -> dict[str, dict[str, dict[str, Any]]]:
        """Run programs of a module with all drivers; return the outcomes by program and driver."""
        outcomes: dict[str, dict[str, dict[str, Any]]] = {program: {} for program in programs}
        lock = threading.Lock()

        def run_side(name: str) -> None:
            for program, outcome in self.sides[name].run(module, programs):
                with lock:
                    outcomes[program][name] = outcome

        with ThreadPoolExecutor(len(self.sides)) as pool:
            for future in [pool.submit(run_side, name) for name in self.sides]:
                future.result()
        # The drivers have finished in any order. Return their outcomes in a fixed order.
        return {
            program: {name: by_side[name] for name in self.sides}
            for program, by_side in outcomes.items()
        }


def is_in_short_form(name: str, share: int) -> bool:
    """Return True if ``--short`` runs a program.

    The choice depends only on the name, so each run chooses the same programs.

    :param name: the program's name.
    :param share: about one in this many programs is chosen.
    """
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % share == 0
