"""Private bases, whose attributes compiled code reads: those of both twins behave as ``__slots__``."""  # noqa: E501

from __future__ import annotations

import copy
import gc
import pickle
import sys
import sysconfig
import weakref
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from cassandra import bases as python_bases
from tests.conftest import Twins

NAMES = python_bases.__all__


def names_of(kind: type[Any]) -> list[str]:
    """The attributes of a base, with those of the one that it derives from."""
    return [name for one in kind.__mro__ for name in one.__dict__.get("__slots__", ())]


class Made:
    """Has a class for each base, made as programs' subclasses are; pickle finds them by name."""

    def __init__(self, twins: Twins) -> None:
        self.twins = twins

    def kind(self, name: str, *more: str, mixin: type[Any] = object) -> Any:
        base = getattr(self.twins.bases, name)
        others = () if mixin is object else (mixin,)
        kind = type(f"{self.twins!r}_{name}", (base, *others), {"__slots__": more})
        kind.__module__ = __name__
        setattr(sys.modules[__name__], kind.__name__, kind)
        return kind

    def filled(self, name: str, *more: str) -> tuple[Any, list[str]]:
        thing = self.kind(name, *more)()
        names = names_of(getattr(self.twins.bases, name))
        for one in names:
            setattr(thing, one, [one])
        return thing, names


@pytest.fixture
def made(twins: Twins) -> Made:
    return Made(twins)


@pytest.mark.parametrize("name", NAMES)
def test_both_twins_have_the_same_attributes(compiled: Twins, name: str) -> None:
    ours, theirs = getattr(python_bases, name), getattr(compiled.bases, name)
    assert sorted(names_of(ours)) == sorted(names_of(theirs))
    assert [one.__name__ for one in ours.__mro__] == [one.__name__ for one in theirs.__mro__]
    assert ours.__basicsize__ == theirs.__basicsize__


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_set_is_not_there(made: Made, name: str) -> None:
    thing = made.kind(name)()
    for one in names_of(type(thing)):
        assert not hasattr(thing, one)
        with pytest.raises(AttributeError, match=one):
            getattr(thing, one)
        with pytest.raises(AttributeError, match=one):
            delattr(thing, one)
        setattr(thing, one, None)
        assert getattr(thing, one) is None
        delattr(thing, one)
        assert not hasattr(thing, one)
    with pytest.raises(AttributeError):
        thing.no_such_attribute = 1


@pytest.mark.parametrize("name", NAMES)
def test_a_patch_is_taken_back(made: Made, name: str) -> None:
    thing, names = made.filled(name)
    for one in names:
        with mock.patch.object(thing, one, 5):
            assert getattr(thing, one) == 5
        assert getattr(thing, one) == [one]


DUPLICATES: list[Callable[[Any], Any]] = [
    copy.copy,
    copy.deepcopy,
    *(
        lambda thing, way=way: pickle.loads(pickle.dumps(thing, way))
        for way in range(2, pickle.HIGHEST_PROTOCOL + 1)
    ),
]


@pytest.mark.parametrize("duplicate", DUPLICATES)
@pytest.mark.parametrize("name", NAMES)
def test_copies_have_what_was_set(made: Made, name: str, duplicate: Callable[[Any], Any]) -> None:
    thing, names = made.filled(name, "__dict__", "__weakref__", "of_its_own")
    thing.of_its_own, thing.free = 1, 2
    delattr(thing, names[0])
    other = duplicate(thing)
    assert type(other) is type(thing)
    assert (other.of_its_own, other.free) == (1, 2)
    assert not hasattr(other, names[0])
    for one in names[1:]:
        assert getattr(other, one) == [one]
        shared = getattr(other, one) is getattr(thing, one)
        assert shared == (duplicate is copy.copy)


@pytest.mark.parametrize("name", NAMES)
def test_an_object_goes_with_its_circle(made: Made, name: str) -> None:
    kind = made.kind(name, "__weakref__")
    gc.freeze()  # what is there already need not be looked through once for each attribute
    try:
        for one in names_of(kind.__base__):
            thing = kind()
            setattr(thing, one, [thing])
            gone = weakref.ref(thing)
            held = sys.getrefcount(kind)
            del thing
            gc.collect()
            assert gone() is None
            # Without the GIL, references to classes are counted by thread, and put together later.
            assert sys.getrefcount(kind) < held or sysconfig.get_config_var("Py_GIL_DISABLED")
    finally:
        gc.unfreeze()


@pytest.mark.parametrize("name", NAMES)
def test_a_subclass_may_have_another_base(made: Made, name: str) -> None:
    class Mixin:
        def __new__(cls, *arguments: Any) -> Any:
            return object.__new__(cls)

        def __init__(self, value: int) -> None:
            self.value = value

    kind = made.kind(name, mixin=Mixin)
    thing = kind(5)
    one = names_of(getattr(made.twins.bases, name))[0]
    setattr(thing, one, 6)
    assert (thing.value, getattr(thing, one), vars(thing)) == (5, 6, {"value": 5})
    assert weakref.ref(thing)() is thing


@pytest.mark.parametrize("name", NAMES)
def test_only_classes_without_arguments(made: Made, name: str) -> None:
    base = getattr(made.twins.bases, name)
    assert not hasattr(base(), "__dict__")
    with pytest.raises(TypeError, match="no arguments"):
        base(1)
