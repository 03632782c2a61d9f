"""Tests that no misuse of the public API crashes the process.

They overwrite attributes, pass wrong arguments, or pass values that change the object being read.
"""

from __future__ import annotations

import pytest

from tests.processes import WITH_TESTS, run_python


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(
    "part",
    [
        "statements",
        "requests",
        "calls",
        "functions",
        "use_mutating_values",
        "encode_changing_containers",
    ],
)
def test_the_process_lives(part: str) -> None:
    """Each part of the program `abuse` must end without a crash of its process."""
    code = f"import sys; sys.argv[1:] = [{part!r}]\nfrom tests.unit import abuse\nabuse.main()"
    process = run_python(code, {**WITH_TESTS, "CASS_DRIVER_IMPL": "c"}, timeout=300)
    assert process.returncode == 0, process.stderr[-3000:]
    # The program prints the name of the part when it has finished.
    assert process.stdout.split() == [part]
