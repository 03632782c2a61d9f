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
    model_fields = {"a": 5}


def test_attrs() -> None:
    """An attrs class declares the alias of a field with `alias`."""
    assert attributes_by_alias(Attrs) == {"other": "named"}


def test_pydantic() -> None:
    """A pydantic model can declare aliases of its fields in several ways."""
    # An AliasPath is not used as an alias. If two fields have the same alias, it stands for the
    # first one.
    assert attributes_by_alias(Pydantic) == {"other": "named", "one": "several", "two": "several"}


def test_other_classes() -> None:
    """A class without such declarations has no aliases."""
    assert attributes_by_alias(WrongModelFields) == attributes_by_alias(int) == {}
