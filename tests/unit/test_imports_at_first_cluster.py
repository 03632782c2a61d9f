"""Names that are imported when the first `Cluster` object is made."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from unittest import mock

import pytest

from cassandra import _imports, _lazy


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    made = ModuleType("first_example")
    monkeypatch.setitem(sys.modules, "first_example", made)
    monkeypatch.setattr(_imports, "_waiting", [])
    monkeypatch.setattr(_imports, "_imported", 0)
    _imports.at_first_cluster("first_example", Fraction="fractions", json="json")
    return made


def test_names_are_imported_for_a_cluster(module: ModuleType) -> None:
    _imports.import_all()
    assert vars(module)["Fraction"] is importlib.import_module("fractions").Fraction
    assert vars(module)["json"] is importlib.import_module("json")


def test_names_that_come_later_are_imported_for_the_next_cluster(module: ModuleType) -> None:
    _imports.import_all()
    _imports.at_first_cluster("first_example", Decimal="decimal")
    _imports.import_all()
    assert vars(module)["Decimal"] is importlib.import_module("decimal").Decimal


def test_a_use_before_imports_the_name(module: ModuleType) -> None:
    stand_in = module.Fraction
    assert repr(stand_in) == "<fractions.Fraction, imported at the first use>"
    made = stand_in(1, 2)
    assert module.Fraction is type(made)
    assert isinstance(made, stand_in)
    assert isinstance(made, (str, stand_in))
    assert not isinstance(0.5, stand_in)
    assert module.json.dumps([1]) == "[1]"


def test_what_a_program_has_patched_stays(module: ModuleType) -> None:
    with mock.patch.object(module, "Fraction") as patched:
        _imports.import_all()
        assert module.Fraction is patched
    assert module.Fraction(1, 2) == 0.5


class Home:
    def hello(self) -> str:
        return "hello"


def test_an_attribute_of_a_class_comes_with_a_cluster(module: ModuleType) -> None:
    class Holder:
        hello = _lazy.LazyAttribute(__name__, "Home", for_engine=True)
        loads = _lazy.LazyAttribute("json", name="dumps", for_engine=True)
        patched = _lazy.LazyAttribute("json", name="dumps", for_engine=True)

    with mock.patch.object(Holder, "patched", 5):
        _imports.import_all()
        assert vars(Holder)["hello"] is Home.hello
        assert vars(Holder)["loads"] is importlib.import_module("json").dumps
        assert Holder.patched == 5
