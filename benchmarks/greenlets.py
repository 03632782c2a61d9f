"""Blocking calls of 100 greenlets beside those of 100 threads, against the null server.

    python -m benchmarks.greenlets

Each lane runs in a process of its own, which gevent or eventlet has patched; figures are executions
a second, the best of the rounds, and the ratio to threads.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # started by its path

from benchmarks._lib import null_server
from benchmarks._lib.requirements import need

PATCHES = {
    "threads": "",
    "gevent": "from gevent import monkey; monkey.patch_all()",
    "eventlet": "import eventlet; eventlet.monkey_patch()",
}
WORK = """
import json, sys, threading, time, warnings
warnings.simplefilter("ignore")
from cassandra.cluster import Cluster
host, port, each, callers = sys.argv[1], *map(int, sys.argv[2:])
with Cluster([host], port=port, protocol_version=4) as cluster:
    session = cluster.connect()
    insert = session.prepare("INSERT INTO five (a, b, c, d, e) VALUES (?, ?, ?, ?, ?)")
    values = (7, "hello world", 7, 1.5, True)
    def work():
        for _ in range(each):
            session.execute(insert, values)
    work()
    threads = [threading.Thread(target=work) for _ in range(callers)]
    began, used = time.perf_counter(), time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall, cpu = time.perf_counter() - began, time.process_time() - used
print(json.dumps([each * callers / wall, cpu / each / callers * 1e6]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--each", type=int, default=200, help="executions of each caller")
    parser.add_argument("--callers", type=int, default=100)
    options = parser.parse_args()
    need("gevent", "eventlet", "uvloop", install="them by: pip install gevent eventlet uvloop")
    root = str(Path(__file__).resolve().parent.parent)
    best: dict[str, list[float]] = {}
    with null_server.running() as (host, port):
        for _ in range(options.rounds):
            for name, patch in PATCHES.items():
                program = f"import warnings; warnings.simplefilter('ignore')\n{patch}\n{WORK}"
                sent = (host, port, options.each, options.callers)
                done = subprocess.run(
                    [sys.executable, "-c", program, *map(str, sent)],
                    cwd=root, check=True, stdout=subprocess.PIPE, text=True, timeout=600,
                )  # fmt: skip
                best[name] = max(best.get(name, [0.0]), json.loads(done.stdout))
    print("".ljust(12) + "a second".rjust(12) + "CPU us".rjust(10) + "to threads".rjust(12))
    for name, (rate, cpu) in best.items():
        ratio = f"{rate / best['threads'][0]:.2f}"
        print(name.ljust(12) + f"{rate:.0f}".rjust(12) + f"{cpu:.0f}".rjust(10) + ratio.rjust(12))


if __name__ == "__main__":
    main()
