"""Classes for user-defined types: registered at any time, with the fields that the schema has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.client.user_types import UserTypes
from cassandra.errors import UserTypeDoesNotExist


class Address:
    pass


def types(**fields: list[str]) -> UserTypes:
    user_types = {name: SimpleNamespace(field_names=names) for name, names in fields.items()}
    metadata: Any = SimpleNamespace(keyspaces={"ks": SimpleNamespace(user_types=user_types)})
    return UserTypes(metadata)


def test_the_mapping_is_replaced_and_never_changed() -> None:
    made = types()
    empty = made.classes
    made.add("ks", "address", Address)
    first = made.classes
    made.add("ks", "phone", int)
    made.add("other", "address", str)
    assert empty == {}
    assert first == {"ks": {"address": Address}}
    assert made.classes == {"ks": {"address": Address, "phone": int}, "other": {"address": str}}


def test_the_schema_knows_better_than_what_was_read_once() -> None:
    made = types(address=["street", "zip"])
    made.take_fields("ks", "address", ["street"])
    made.take_fields("ks", "phone", ["number"])
    assert made.fields("ks", "address") == ["street", "zip"]
    assert made.fields("ks", "phone") == ["number"]
    for keyspace in ("ks", "other"):
        with pytest.raises(UserTypeDoesNotExist, match=f"no user-defined type {keyspace}.none"):
            made.fields(keyspace, "none")


async def test_a_type_that_is_not_there_is_refused_when_fields_are_read() -> None:
    made = types()

    async def fields_of(keyspace: str, name: str) -> list[str]:
        if name == "none":
            raise UserTypeDoesNotExist(name)
        return ["street"]

    made.add("ks", "address", Address)
    await made.read_fields(fields_of)
    assert made.fields("ks", "address") == ["street"]
    made.add("ks", "none", Address)
    with pytest.raises(UserTypeDoesNotExist):
        await made.read_fields(fields_of)
