"""Measures what slows down threads without the GIL: shared reference counts, and locks.

    python benchmarks/contention.py [--loops 2] [--threads 4]

The script needs a free-threaded CPython (3.13t or later) whose functions have names (not
stripped), and Linux's `perf`. Only root has the right to set the probes of `perf`.

In such a CPython, a thread changes the reference count of another thread's object by an atomic
operation, and the object's cache line moves to the thread's core. So threads that use the same
object wait for each other. The script counts the decrements of such reference counts with a probe
on `_Py_DecRefShared`, while the threads of `benchmarks.loops` insert rows. The first table has the
decrements per insert, by the type of the object. For each decrement there is an increment, too. The
table includes only objects that at least three threads use: a request object is used by two
threads, because one thread creates it and another thread sends it. The table also shows how often
an insert had to wait for a lock.

The second table is a simulation of more cores, each of which runs one event loop and its callers.
Each insert takes the CPU time of one loop, and then waits for each shared object as long as other
cores use it. This is a closed network of queues, which is solved by mean value analysis. A C
program, in which two threads add to the same number, measures how long an object is used.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks._lib import null_server, peers
from benchmarks._lib.report import Benchmark

LIBRARY = Path(__file__).with_name("_lib")
WORKER = LIBRARY / "worker_loops.py"
CORES = (1, 2, 4, 8)  # the numbers of cores that are simulated
IN_FLIGHT = 100  # the number of inserts that each thread has in flight
SHARED = 3  # an object counts as shared if at least this many threads use it
OBJECT_TYPE = "+0(+40(+24(%di)))"  # object->ob_type->tp_name; %di has the first argument
# The probes that `perf` sets, by name. Each is a function with the arguments to record at each
# call.
PROBES = {
    "decrement": f"_Py_DecRefShared object=%di:x64 type={OBJECT_TYPE}:string",
    "wait": "_PyMutex_LockTimed object=%di:x64",
}
# An event in the output of ``perf script``.
EVENT = re.compile(
    r"^\s*(?P<thread>\d+) +(?P<time>[\d.]+): +\w+:(?P<probe>\w+): .*?object=(?P<object>0x\w+)"
    r'(?: type="(?P<type>[^"]*)")?',
    re.MULTILINE,
)


class Event(NamedTuple):
    """A call of a function that has a probe."""

    thread: str
    seconds: float  # the time of the call, by the monotonic clock
    probe: str  # a key of PROBES
    object: str  # the address of the object that was passed to the function
    type: str | None


def parse_events(script: str) -> Iterator[Event]:
    """Return the events in the output of ``perf script``."""
    for match in EVENT.finditer(script):
        yield Event(
            match["thread"], float(match["time"]), match["probe"], match["object"], match["type"]
        )


def shared_decrements(events: Sequence[Event]) -> dict[str, Counter[str]]:
    """Return how often the reference count of each shared object was decremented.

    A shared object is one that at least `SHARED` threads use. The result has a counter for each
    type of object, with the decrements by the object's address.
    """
    threads = defaultdict(set)
    for event in events:
        threads[event.object].add(event.thread)
    by_type: dict[str, Counter[str]] = defaultdict(Counter)
    for event in events:
        if len(threads[event.object]) >= SHARED:
            by_type[event.type or "?"][event.object] += 1
    return by_type


def simulated_rate(cores: int, own_us: float, uses_us: Sequence[float]) -> float:
    """Return the inserts per microsecond of cores that wait for the same objects.

    The function uses mean value analysis, which is exact for a closed network of servers whose
    service times are exponentially distributed.

    :param own_us: microseconds that an insert takes on its core without waiting.
    :param uses_us: for each shared object, the microseconds for which an insert uses the object.
    """
    lengths = [0.0] * len(uses_us)  # the mean number of cores that use or wait for each object
    rate = 0.0
    # Compute the rate for one core, for two cores, and so on. At each object, a core waits for as
    # many other cores as use the object, or wait for it, in the network with one core less.
    for customers in range(1, cores + 1):
        times = [use * (1 + length) for use, length in zip(uses_us, lengths, strict=True)]
        rate = customers / (own_us + sum(times))
        lengths = [rate * time for time in times]
    return rate


def perf(*arguments: str) -> str:
    """Run ``perf`` and return its output.

    :raises subprocess.CalledProcessError: if ``perf`` fails, for example because probes are
        forbidden.
    """
    return subprocess.run(
        ["perf", *arguments], check=True, capture_output=True, text=True, errors="replace"
    ).stdout


def record(bench: Benchmark, address: str, port: int, folder: Path) -> tuple[list[Event], int]:
    """Insert rows with probes set; return the events, and the number of inserts.

    Events before and after the measurement are left out.

    :param folder: the folder for perf's files.
    """
    options = bench.options
    counts = [1, options.loops, options.threads, IN_FLIGHT]
    if "turbocql:" in perf("probe", "--list"):  # probes that a killed run of this script has left
        perf("probe", "--quiet", "--del", "turbocql:*")
    for name, probe in PROBES.items():
        perf("probe", "--quiet", "-x", os.path.realpath(sys.executable), f"turbocql:{name}={probe}")
    try:
        figures = peers.run(
            sys.executable,
            WORKER,
            [address, str(port), *map(str, counts), str(options.seconds)],
            peers.own_settings(),
            ["perf", "record", "--quiet", "-k", "mono", "-m", "4096", "-o", str(folder / "data")]
            + [part for name in PROBES for part in ("-e", f"turbocql:{name}")],
        )
    finally:
        perf("probe", "--quiet", "--del", "turbocql:*")
    inserts, seconds, _, began = figures
    script = perf("script", "-i", str(folder / "data"), "-F", "tid,time,event,trace")
    events = [e for e in parse_events(script) if began <= e.seconds <= began + seconds]
    return events, inserts


def contended_use_us(folder: Path) -> float:
    """Return the microseconds of one atomic addition to a number that another thread adds to."""
    program = folder / "contended"
    source = LIBRARY / "contended.c"
    subprocess.run(["cc", "-O2", "-pthread", "-o", str(program), str(source)], check=True)
    output = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    return float(output.split()[1]) / 1000


def main() -> int:
    bench = Benchmark(
        __doc__,
        "What threads of an insert share",
        duration_text="1 minute",
        quick_duration_text="10 s",
    )
    bench.add_option("--loops", type=int, default=2)
    bench.add_option("--threads", type=int, default=4)
    bench.add_option("--seconds", type=float, default=0.2, help="of the inserts with probes")
    bench.add_option("--own-seconds", type=float, default=2.0, help="of the inserts of one thread")
    options = bench.start(quick={"seconds": 0.05, "own_seconds": 0.2})
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        bench.stop("this benchmark needs a CPython without the GIL: tools/build_python 3.14t")
    if shutil.which("perf") is None:
        bench.stop("this benchmark needs perf (Debian: apt install linux-perf)")
    bench.need_program("cc")
    with null_server.running() as (address, port), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Measure the CPU time of an insert of one thread, without probes.
        plain = [address, str(port), "1", "1", "1", str(IN_FLIGHT), str(options.own_seconds)]
        inserts, _, cpu, _ = peers.run(sys.executable, WORKER, plain, peers.own_settings())
        own_us = cpu / inserts * 1e6
        try:
            events, inserts = record(bench, address, port, folder)
        except subprocess.CalledProcessError as error:
            bench.stop(f"perf cannot set probes here: {error.stderr.strip().splitlines()[-1]}")
        use_us = contended_use_us(folder)
    # Count the decrements of each object that at least `SHARED` threads use.
    by_type = shared_decrements([event for event in events if event.probe == "decrement"])
    rows = {
        kind: {"an insert": objects.total() / inserts, "objects": len(objects)}
        for kind, objects in sorted(by_type.items(), key=lambda item: -item[1].total())
        if objects.total() / inserts >= 0.05
    }
    waits = sum(event.probe == "wait" for event in events)
    rows["all shared objects"] = {"an insert": sum(row["an insert"] for row in rows.values())}
    rows["waits for a lock"] = {"an insert": waits / inserts}
    bench.show_table("decrements of shared objects", rows)
    # There is an increment for each decrement, so each decrement counts as two uses of the object.
    uses_us = [
        2 * count / inserts * use_us for objects in by_type.values() for count in objects.values()
    ]
    rates = {cores: simulated_rate(cores, own_us, uses_us if cores > 1 else []) for cores in CORES}
    bench.show_table(
        f"simulated: {own_us:.2f} us an insert, {use_us * 1000:.0f} ns a use",
        {
            f"{cores} cores": {"thousands a second": rate * 1000, "times one core": rate / rates[1]}
            for cores, rate in rates.items()
        },
    )
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
