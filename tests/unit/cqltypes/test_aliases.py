"""Aliases of fields, as attrs and pydantic classes declare them."""

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
    """A class that has the attribute of a pydantic model, but no descriptions of fields in it."""

    model_fields = {"a": 5}


def test_an_attrs_class_declares_aliases_of_fields() -> None:
    assert attributes_by_alias(Attrs) == {"other": "named"}


def test_a_pydantic_model_declares_aliases_in_several_ways() -> None:
    """An AliasPath is not used as an alias. If two fields have the same alias, it stands for the
    first one.
    """
    assert attributes_by_alias(Pydantic) == {"other": "named", "one": "several", "two": "several"}


def test_a_class_without_such_declarations_has_no_aliases() -> None:
    assert attributes_by_alias(WrongModelFields) == {}
    assert attributes_by_alias(int) == {}
