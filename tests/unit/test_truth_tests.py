"""Tests of the warning for objects that are dropped unused, such as after a test for truth.

The warning has the line of user code that created the object.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import pickle
import warnings
from collections.abc import AsyncGenerator, Callable

import pytest

from cassandra._truth_tests import IterationCheck, TruthTest
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
    """A copy must have None in place of a `TruthTest`, because the copy was not tested.

    Besides, a `TruthTest` refers to the globals of a module, which cannot be copied.
    """
    test = TruthTest("nothing was done")
    test.is_used = True
    assert copy.deepcopy([test]) == [None]
    assert pickle.loads(pickle.dumps([test])) == [None]


def test_the_end_of_the_interpreter_causes_no_warning() -> None:
    """The end of the interpreter must cause no warning.

    Objects at the level of a module are deleted then, whether they are of use or not.
    """
    process = run_python(
        "from cassandra._truth_tests import TruthTest\ntest = TruthTest('nothing was done')\n"
    )
    assert process.stderr == ""


# -- generators that nobody iterates over ----------------------------------------------------------


async def numbers(check: IterationCheck) -> AsyncGenerator[int, None]:
    """Yield 1, and record in `check` that the iteration has begun."""
    check.is_used = True
    yield 1


def drop(make: Callable[[IterationCheck], object]) -> None:
    """Call `make` with a new check, and drop the result."""
    make(IterationCheck("nothing was done"))
    gc.collect()


async def test_a_generator_that_is_dropped_warns() -> None:
    with pytest.warns(RuntimeWarning, match=r"^nothing was done$"):
        drop(numbers)


async def test_a_generator_that_is_closed_causes_no_warning() -> None:
    """Closing a generator that nobody began to read, or that was read, must not warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        await numbers(IterationCheck("nothing was done")).aclose()
        with contextlib.suppress(ZeroDivisionError):
            async with contextlib.aclosing(numbers(IterationCheck("nothing was done"))):
                raise ZeroDivisionError
        async with contextlib.aclosing(numbers(IterationCheck("nothing was done"))) as generator:
            assert [number async for number in generator] == [1]
        gc.collect()


def test_the_end_of_python_shows_no_error() -> None:
    """The end of Python must show no error.

    Python then deletes the objects of modules, with no code running.
    """
    program = "from cassandra._truth_tests import IterationCheck as Check; check = Check('unused')"
    assert run_python(program).stderr == ""
