"""Tests of the private base classes whose attributes compiled code reads.

The attributes of the Python bases and of the compiled bases both behave like ``__slots__``.
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
from tests.conftest import Implementation

NAMES = python_bases.__all__


def names_of(kind: type[Any]) -> list[str]:
    """Return the names of a base's slots, including those that it inherits."""
    return [name for base in kind.__mro__ for name in base.__dict__.get("__slots__", ())]


class SubclassesOfBases:
    """Creates subclasses of the bases, like an application.

    Each class becomes an attribute of this module, where pickle looks for it.
    """

    def __init__(self, implementation: Implementation) -> None:
        self.implementation = implementation

    def subclass_of(self, name: str, *slots: str, mixin: type[Any] = object) -> Any:
        """Return a new subclass of the base `name`.

        :param slots: the slots that the subclass adds.
        :param mixin: a second base class.
        """
        base = getattr(self.implementation.bases, name)
        other_bases = () if mixin is object else (mixin,)
        subclass = type(
            f"{self.implementation!r}_{name}", (base, *other_bases), {"__slots__": slots}
        )
        subclass.__module__ = __name__
        setattr(sys.modules[__name__], subclass.__name__, subclass)
        return subclass

    def instance_with_values(self, name: str, *slots: str) -> tuple[Any, list[str]]:
        """Return an instance of a new subclass, and the names of the base's slots.

        The value of each of these slots is a list with its name.
        """
        instance = self.subclass_of(name, *slots)()
        names = names_of(getattr(self.implementation.bases, name))
        for attribute in names:
            setattr(instance, attribute, [attribute])
        return instance, names


@pytest.fixture
def subclasses(implementation: Implementation) -> SubclassesOfBases:
    """Return a maker of subclasses of the bases of one implementation."""
    return SubclassesOfBases(implementation)


@pytest.mark.parametrize("name", NAMES)
def test_both_twins_have_the_same_attributes(compiled: Implementation, name: str) -> None:
    """Objects of the Python and the compiled base must have the same attributes and size."""
    python_class, compiled_class = getattr(python_bases, name), getattr(compiled.bases, name)
    assert sorted(names_of(python_class)) == sorted(names_of(compiled_class))
    assert [base.__name__ for base in python_class.__mro__] == [
        base.__name__ for base in compiled_class.__mro__
    ]
    assert python_class.__basicsize__ == compiled_class.__basicsize__


@pytest.mark.parametrize("name", NAMES)
def test_unset_attributes_raise_attribute_error(subclasses: SubclassesOfBases, name: str) -> None:
    """A slot must raise AttributeError before it is set and after it is deleted."""
    instance = subclasses.subclass_of(name)()
    for attribute in names_of(type(instance)):
        assert not hasattr(instance, attribute)
        with pytest.raises(AttributeError, match=attribute):
            getattr(instance, attribute)
        with pytest.raises(AttributeError, match=attribute):
            delattr(instance, attribute)
        setattr(instance, attribute, None)
        assert getattr(instance, attribute) is None
        delattr(instance, attribute)
        assert not hasattr(instance, attribute)
    with pytest.raises(AttributeError):
        instance.no_such_attribute = 1


@pytest.mark.parametrize("name", NAMES)
def test_mock_patches_of_attributes_are_undone(subclasses: SubclassesOfBases, name: str) -> None:
    instance, names = subclasses.instance_with_values(name)
    for attribute in names:
        with mock.patch.object(instance, attribute, 5):
            assert getattr(instance, attribute) == 5
        assert getattr(instance, attribute) == [attribute]


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
def test_copies_and_pickles_have_the_same_attributes(
    subclasses: SubclassesOfBases, name: str, duplicate: Callable[[Any], Any]
) -> None:
    original, names = subclasses.instance_with_values(name, "__dict__", "__weakref__", "of_its_own")
    original.of_its_own, original.free = 1, 2
    delattr(original, names[0])
    duplicated = duplicate(original)
    assert type(duplicated) is type(original)
    assert (duplicated.of_its_own, duplicated.free) == (1, 2)
    assert not hasattr(duplicated, names[0])
    for attribute in names[1:]:
        assert getattr(duplicated, attribute) == [attribute]
        is_shared = getattr(duplicated, attribute) is getattr(original, attribute)
        # Only a shallow copy may refer to the same values.
        assert is_shared == (duplicate is copy.copy)


@pytest.mark.parametrize("name", NAMES)
def test_the_garbage_collector_frees_a_reference_cycle(
    subclasses: SubclassesOfBases, name: str
) -> None:
    cls = subclasses.subclass_of(name, "__weakref__")
    # Freezing the existing objects keeps them out of each collection, which makes it short. There
    # is no unfreeze: tests/conftest.py freezes them anyway.
    gc.freeze()
    for attribute in names_of(cls.__base__):
        instance = cls()
        setattr(instance, attribute, [instance])
        reference = weakref.ref(instance)
        count_before = sys.getrefcount(cls)
        del instance
        gc.collect()
        assert reference() is None
        # Without the GIL, each thread counts references to classes separately, and the counts are
        # added later.
        if not sysconfig.get_config_var("Py_GIL_DISABLED"):
            assert sys.getrefcount(cls) < count_before


@pytest.mark.parametrize("name", NAMES)
def test_a_subclass_may_have_another_base(subclasses: SubclassesOfBases, name: str) -> None:
    class Mixin:
        def __new__(cls, *arguments: Any) -> Any:
            return object.__new__(cls)

        def __init__(self, value: int) -> None:
            self.value = value

    cls = subclasses.subclass_of(name, mixin=Mixin)
    instance = cls(5)
    attribute = names_of(getattr(subclasses.implementation.bases, name))[0]
    setattr(instance, attribute, 6)
    assert getattr(instance, attribute) == 6
    # The value of the base's attribute must be in its slot, and not in the dictionary.
    assert vars(instance) == {"value": 5}
    assert weakref.ref(instance)() is instance


@pytest.mark.parametrize("name", NAMES)
def test_bases_take_no_arguments_and_have_no_dict(subclasses: SubclassesOfBases, name: str) -> None:
    base = getattr(subclasses.implementation.bases, name)
    assert not hasattr(base(), "__dict__")
    with pytest.raises(TypeError, match="no arguments"):
        base(1)
