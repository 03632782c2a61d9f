"""Tests of names that modules import only when they are first used."""

from __future__ import annotations

import decimal
import sys
from types import ModuleType
from typing import Any
from unittest import mock

import pytest

import cassandra._compat.cluster
import cassandra._compat.engine
from cassandra import _lazy
from cassandra._lazy import lazy_base, lazy_names
from cassandra.cluster import compat_names as of_faces
from cassandra.engine import compat_names as of_engine


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return a module with two names that are imported at their first use."""
    example = ModuleType("lazy_example")
    monkeypatch.setitem(sys.modules, "lazy_example", example)
    example.__getattr__ = lazy_names(  # type: ignore[method-assign]
        "lazy_example", {"Decimal": "decimal", "text": "json"}, {"text": "dumps"}
    )
    return example


def test_a_lazy_name_becomes_an_attribute_at_its_first_use(module: ModuleType) -> None:
    assert "Decimal" not in vars(module)
    assert module.Decimal is decimal.Decimal
    assert vars(module)["Decimal"] is decimal.Decimal


def test_a_lazy_name_may_differ_from_the_name_in_its_module(module: ModuleType) -> None:
    assert module.text([1]) == "[1]"


@pytest.mark.parametrize("name", ["nothing", "__path__"])
def test_unknown_names_raise_attribute_error(module: ModuleType, name: str) -> None:
    with pytest.raises(AttributeError, match=f"'lazy_example' has no attribute '{name}'"):
        getattr(module, name)


def test_compatible_reexports_are_lazy_names(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lazy module must also have the names that `REEXPORTS` lists for it."""
    table = {"lazy_example": {"fractions": "Fraction Other", "json": "loads"}}
    monkeypatch.setattr("cassandra._compat.reexports.REEXPORTS", table)
    assert _lazy._reexported("lazy_example") == {
        "Fraction": "fractions",
        "Other": "fractions",
        "loads": "json",
    }
    assert module.Fraction(1, 2) == 0.5


class Home:
    """The class whose attributes `lazy_base` copies to a base when that is first used."""

    number = 5

    def hello(self, name: str) -> str:
        return f"{type(self).__name__} {name}"

    @classmethod
    def made(cls) -> str:
        return cls.__name__

    @property
    def read_only(self) -> int:
        return 7


@pytest.fixture
def base() -> Any:
    """Return a lazy base with the attributes of `Home`."""
    return lazy_base("Home", __name__, "number hello made read_only")


def test_a_lazy_base_copies_all_attributes_at_the_first_use(base: Any) -> None:
    """The first use of one lazy attribute must replace all of them in the base."""

    class Derived(base):  # type: ignore[misc]
        pass

    assert isinstance(vars(base)["hello"], _lazy.LazyAttribute)
    assert Derived().hello("you") == "Derived you"
    assert vars(base)["hello"] is vars(Home)["hello"]
    assert Derived.made() == "Derived"
    assert Derived.number == 5
    assert Derived().read_only == 7
    assert Derived.read_only is vars(Home)["read_only"]
    assert not [
        attribute for attribute in vars(base).values() if isinstance(attribute, _lazy.LazyAttribute)
    ]


def test_a_subclass_may_override_lazy_attributes_and_call_super(base: Any) -> None:
    """`super()` must find lazy methods and class methods that a subclass overrides."""

    class Derived(base):  # type: ignore[misc]
        def hello(self, name: str) -> str:
            return f"{super().hello(name)}!"

        @classmethod
        def made(cls) -> str:
            return f"{super().made()}!"

    assert Derived().hello("you") == "Derived you!"
    assert Derived.made() == "Derived!"


@pytest.mark.parametrize("is_loaded", [False, True])
def test_attributes_set_on_an_instance_are_kept(base: Any, is_loaded: bool) -> None:
    class Derived(base):  # type: ignore[misc]
        pass

    if is_loaded:
        assert Derived.hello
        assert Derived.read_only
    first, second = Derived(), Derived()
    first.hello = len
    # `len` gets no instance, unlike a method.
    assert first.hello("you") == 3
    assert second.hello("you") == "Derived you"
    del first.hello
    assert first.hello("you") == "Derived you"
    with pytest.raises(AttributeError):
        # When its attribute is deleted, the instance has that of its class again.
        del first.hello
    with pytest.raises(AttributeError):
        first.read_only = 8
    with mock.patch.object(Derived, "hello", return_value="patched"):
        assert second.hello("you") == "patched"
    assert second.hello("you") == "Derived you"


@pytest.mark.parametrize(
    ("base", "home"),
    [
        (of_faces.CompatCluster, cassandra._compat.cluster.CompatCluster),
        (of_faces.CompatSession, cassandra._compat.cluster.CompatSession),
        (of_engine.CompatConnection, cassandra._compat.engine.CompatConnection),
        (of_engine.CompatPool, cassandra._compat.engine.CompatPool),
    ],
    ids=lambda cls: str(cls.__qualname__),
)
def test_lazy_bases_list_all_attributes_of_their_classes(base: type, home: type) -> None:
    def names(cls: type) -> set[str]:
        # `state` belongs to the pool.
        return {name for name in vars(cls) if not name.startswith("__")} - {"state"}

    assert names(base) == names(home)
