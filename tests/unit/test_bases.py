"""Private bases with attributes for compiled code: those of both twins behave like
``__slots__``.
"""

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
    """Return the attributes of a base, including those of its own base."""
    return [name for base in kind.__mro__ for name in base.__dict__.get("__slots__", ())]


class SubclassesOfBases:
    """Has a class for each base, created as applications' subclasses are; pickle finds them by
    name.
    """

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
        for attribute in names:
            setattr(thing, attribute, [attribute])
        return thing, names


@pytest.fixture
def subclasses(twins: Twins) -> SubclassesOfBases:
    return SubclassesOfBases(twins)


@pytest.mark.parametrize("name", NAMES)
def test_both_twins_have_the_same_attributes(compiled: Twins, name: str) -> None:
    ours, theirs = getattr(python_bases, name), getattr(compiled.bases, name)
    assert sorted(names_of(ours)) == sorted(names_of(theirs))
    assert [base.__name__ for base in ours.__mro__] == [base.__name__ for base in theirs.__mro__]
    assert ours.__basicsize__ == theirs.__basicsize__


@pytest.mark.parametrize("name", NAMES)
def test_unset_attributes_raise_attribute_error(subclasses: SubclassesOfBases, name: str) -> None:
    thing = subclasses.kind(name)()
    for attribute in names_of(type(thing)):
        assert not hasattr(thing, attribute)
        with pytest.raises(AttributeError, match=attribute):
            getattr(thing, attribute)
        with pytest.raises(AttributeError, match=attribute):
            delattr(thing, attribute)
        setattr(thing, attribute, None)
        assert getattr(thing, attribute) is None
        delattr(thing, attribute)
        assert not hasattr(thing, attribute)
    with pytest.raises(AttributeError):
        thing.no_such_attribute = 1


@pytest.mark.parametrize("name", NAMES)
def test_a_patch_is_taken_back(subclasses: SubclassesOfBases, name: str) -> None:
    thing, names = subclasses.filled(name)
    for attribute in names:
        with mock.patch.object(thing, attribute, 5):
            assert getattr(thing, attribute) == 5
        assert getattr(thing, attribute) == [attribute]


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
def test_copies_have_what_was_set(
    subclasses: SubclassesOfBases, name: str, duplicate: Callable[[Any], Any]
) -> None:
    thing, names = subclasses.filled(name, "__dict__", "__weakref__", "of_its_own")
    thing.of_its_own, thing.free = 1, 2
    delattr(thing, names[0])
    other = duplicate(thing)
    assert type(other) is type(thing)
    assert (other.of_its_own, other.free) == (1, 2)
    assert not hasattr(other, names[0])
    for attribute in names[1:]:
        assert getattr(other, attribute) == [attribute]
        shared = getattr(other, attribute) is getattr(thing, attribute)
        assert shared == (duplicate is copy.copy)


@pytest.mark.parametrize("name", NAMES)
def test_an_object_goes_with_its_circle(subclasses: SubclassesOfBases, name: str) -> None:
    kind = subclasses.kind(name, "__weakref__")
    gc.freeze()  # so that existing objects are not visited for each attribute
    try:
        for attribute in names_of(kind.__base__):
            thing = kind()
            setattr(thing, attribute, [thing])
            gone = weakref.ref(thing)
            held = sys.getrefcount(kind)
            del thing
            gc.collect()
            assert gone() is None
            # Without the GIL, references to classes are counted by thread, and added up later.
            assert sys.getrefcount(kind) < held or sysconfig.get_config_var("Py_GIL_DISABLED")
    finally:
        gc.unfreeze()


@pytest.mark.parametrize("name", NAMES)
def test_a_subclass_may_have_another_base(subclasses: SubclassesOfBases, name: str) -> None:
    class Mixin:
        def __new__(cls, *arguments: Any) -> Any:
            return object.__new__(cls)

        def __init__(self, value: int) -> None:
            self.value = value

    kind = subclasses.kind(name, mixin=Mixin)
    thing = kind(5)
    attribute = names_of(getattr(subclasses.twins.bases, name))[0]
    setattr(thing, attribute, 6)
    assert (thing.value, getattr(thing, attribute), vars(thing)) == (5, 6, {"value": 5})
    assert weakref.ref(thing)() is thing


@pytest.mark.parametrize("name", NAMES)
def test_only_classes_without_arguments(subclasses: SubclassesOfBases, name: str) -> None:
    base = getattr(subclasses.twins.bases, name)
    assert not hasattr(base(), "__dict__")
    with pytest.raises(TypeError, match="no arguments"):
        base(1)
