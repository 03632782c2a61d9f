"""Objects that are tested for truth and dropped cause a warning at the line of the test."""

from __future__ import annotations

import copy
import gc
import pickle
import warnings

import pytest

from cassandra._truth_tests import TruthTest
from tests.processes import run_python


def test_a_test_without_use_warns_at_its_line() -> None:
    def test_and_drop() -> None:
        TruthTest("nothing was done")
        gc.collect()

    with pytest.warns(RuntimeWarning, match=r"^nothing was done$") as warned:
        test_and_drop()
    assert warned[0].filename == __file__


def test_an_object_that_is_used_causes_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        test = TruthTest("nothing was done")
        test.is_used = True
        del test
        gc.collect()


def test_a_copy_of_the_object_was_not_tested() -> None:
    """The globals of a module, which the test remembers, cannot be copied."""
    test = TruthTest("nothing was done")
    test.is_used = True
    assert copy.deepcopy([test]) == [None]
    assert pickle.loads(pickle.dumps([test])) == [None]


def test_the_end_of_the_interpreter_causes_no_warning() -> None:
    """Objects of a module's level are deleted then, whether they are of use or not."""
    process = run_python(
        "from cassandra._truth_tests import TruthTest\ntest = TruthTest('nothing was done')\n"
    )
    assert process.stderr == ""
