"""Test `attributes_by_alias`, which finds the aliases of fields in attrs and pydantic classes."""

from __future__ import annotations

import attrs
import pydantic

from cassandra.cqltypes.aliases import attributes_by_alias


@attrs.define
class Attrs:
    plain: int
    named: int = attrs.field(alias="other")


class Pydantic(pydantic.BaseModel):
    plain: int
    named: int = pydantic.Field(alias="other")
    several: int = pydantic.Field(
        validation_alias=pydantic.AliasChoices("one", pydantic.AliasPath("a", 0), "two")
    )
    later: int = pydantic.Field(validation_alias="one")


class WrongModelFields:
    """A class with a pydantic model's attribute `model_fields`, but without descriptions in it."""

    model_fields = {"a": 5}


def test_an_attrs_class_declares_aliases_of_fields() -> None:
    """The alias of an attrs field maps to the field's attribute."""
    assert attributes_by_alias(Attrs) == {"other": "named"}


def test_a_pydantic_model_declares_aliases_in_several_ways() -> None:
    """A pydantic model's aliases map to their attributes.

    An AliasPath is not used as an alias. If two fields have the same alias, it maps to the first
    field.
    """
    assert attributes_by_alias(Pydantic) == {"other": "named", "one": "several", "two": "several"}


def test_a_class_without_such_declarations_has_no_aliases() -> None:
    """`attributes_by_alias` returns an empty dict for a class without declared aliases."""
    assert attributes_by_alias(WrongModelFields) == {}
    assert attributes_by_alias(int) == {}
