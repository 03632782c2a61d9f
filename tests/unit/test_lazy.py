"""Names that are imported when somebody asks for them."""

from __future__ import annotations

import decimal
import sys
from types import ModuleType

import pytest

from cassandra import _lazy
from cassandra._lazy import lazy_names


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    made = ModuleType("lazy_example")
    monkeypatch.setitem(sys.modules, "lazy_example", made)
    made.__getattr__ = lazy_names(  # type: ignore[method-assign]
        "lazy_example", {"Decimal": "decimal", "text": "json"}, {"text": "dumps"}
    )
    return made


def test_a_name_is_an_attribute_from_then_on(module: ModuleType) -> None:
    assert "Decimal" not in vars(module)
    assert module.Decimal is decimal.Decimal
    assert vars(module)["Decimal"] is decimal.Decimal


def test_a_name_that_is_another_at_home(module: ModuleType) -> None:
    assert module.text([1]) == "[1]"


@pytest.mark.parametrize("name", ["nothing", "__path__"])
def test_other_names(module: ModuleType, name: str) -> None:
    with pytest.raises(AttributeError, match=f"'lazy_example' has no attribute '{name}'"):
        getattr(module, name)


def test_names_that_programs_take_from_elsewhere(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = {"lazy_example": {"fractions": "Fraction Other", "json": "loads"}}
    monkeypatch.setattr("cassandra._compat.reexports.REEXPORTS", table)
    assert _lazy._reexported("lazy_example") == {
        "Fraction": "fractions",
        "Other": "fractions",
        "loads": "json",
    }
    assert module.Fraction(1, 2) == 0.5
