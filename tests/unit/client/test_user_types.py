"""Classes for user-defined types can be registered at any time, and get the fields of
the schema.
"""

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
    registry = types()
    empty = registry.classes
    registry.add("ks", "address", Address)
    first = registry.classes
    registry.add("ks", "phone", int)
    registry.add("other", "address", str)
    assert empty == {}
    assert first == {"ks": {"address": Address}}
    assert registry.classes == {"ks": {"address": Address, "phone": int}, "other": {"address": str}}


def test_the_schema_knows_better_than_what_was_read_once() -> None:
    registry = types(address=["street", "zip"])
    registry.take_fields("ks", "address", ["street"])
    registry.take_fields("ks", "phone", ["number"])
    assert registry.fields("ks", "address") == ["street", "zip"]
    assert registry.fields("ks", "phone") == ["number"]
    for keyspace in ("ks", "other"):
        with pytest.raises(UserTypeDoesNotExist, match=f"no user-defined type {keyspace}.none"):
            registry.fields(keyspace, "none")


async def test_a_type_that_is_not_there_is_refused_when_fields_are_read() -> None:
    registry = types()

    async def fields_of(keyspace: str, name: str) -> list[str]:
        if name == "none":
            raise UserTypeDoesNotExist(name)
        return ["street"]

    registry.add("ks", "address", Address)
    await registry.read_fields(fields_of)
    assert registry.fields("ks", "address") == ["street"]
    registry.add("ks", "none", Address)
    with pytest.raises(UserTypeDoesNotExist):
        await registry.read_fields(fields_of)
