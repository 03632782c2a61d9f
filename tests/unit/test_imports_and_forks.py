"""Tests of importing modules at run time while another thread forks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.processes import run_python

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

# The programs below begin with this. `fork` calls a function in a child process and returns the
# exit status of the child.
BEGIN = """
import os, sys, threading
sys.path.insert(0, {folder!r})
from cassandra import _imports

def fork(in_child):
    pid = os.fork()
    if pid == 0:
        try:
            in_child()
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""


def test_a_fork_waits_for_an_import(tmp_path: Path) -> None:
    """A fork must wait until an import in another thread has ended.

    Otherwise the child would find the import lock of the module held by a thread that does not
    exist there.
    """
    (tmp_path / "slow.py").write_text(
        "import threading, time, __main__\n__main__.begun.set()\ntime.sleep(0.2)\ndone = True\n"
    )
    code = (
        BEGIN.format(folder=str(tmp_path))
        + """
begun = threading.Event()
thread = threading.Thread(target=_imports.import_module, args=("slow",))
thread.start()
begun.wait()
def child():
    assert _imports.import_module("slow").done
print(fork(child))
thread.join()
print(fork(child), _imports._importers)
"""
    )
    process = run_python(code)
    assert process.stdout.split() == ["0", "0", "[]"], process.stderr


def test_a_module_may_fork_while_it_is_imported(tmp_path: Path) -> None:
    (tmp_path / "forks.py").write_text(
        "import __main__\nfrom cassandra import _imports\n"
        "status = __main__.fork(lambda: _imports.import_module('wave'))\n"
    )
    code = (
        BEGIN.format(folder=str(tmp_path))
        + """
print(_imports.import_module("forks").status, _imports._importers)
"""
    )
    process = run_python(code)
    # The program prints the exit status of the child, and that no import is running.
    assert process.stdout.split() == ["0", "[]"], process.stderr


def test_a_fork_waits_for_an_import_only_for_a_limited_time(tmp_path: Path) -> None:
    """If an import never ends, the fork must continue after `_imports.PATIENCE` seconds."""
    (tmp_path / "endless.py").write_text(
        "import threading, __main__\n__main__.begun.set()\nthreading.Event().wait()\n"
    )
    code = (
        BEGIN.format(folder=str(tmp_path))
        + """
_imports.PATIENCE = 0.05
begun = threading.Event()
threading.Thread(target=_imports.import_module, args=("endless",), daemon=True).start()
begun.wait()
print(fork(lambda: _imports.import_module("wave")), len(_imports._importers))
sys.stdout.flush()
os._exit(0)
"""
    )
    process = run_python(code)
    # The program prints the exit status of the child, and the import that never ends.
    assert process.stdout.split() == ["0", "1"], process.stderr


def test_a_failed_import_is_not_listed_as_running() -> None:
    from cassandra import _imports

    with pytest.raises(ImportError):
        _imports.import_module("cassandra.there_is_none")
    assert _imports._importers == []
    assert "cassandra.there_is_none" not in sys.modules
