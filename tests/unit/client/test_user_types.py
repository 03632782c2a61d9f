"""`UserTypes`, which has the registered classes and the fields of user-defined types."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.client.user_types import UserTypes
from cassandra.errors import UserTypeDoesNotExist


class Address:
    pass


def user_types_of_schema(**fields: list[str]) -> UserTypes:
    """Return a registry whose schema has the keyspace `ks` with these types.

    :param fields: maps the name of a type to the names of its fields.
    """
    user_types = {name: SimpleNamespace(field_names=names) for name, names in fields.items()}
    metadata: Any = SimpleNamespace(keyspaces={"ks": SimpleNamespace(user_types=user_types)})
    return UserTypes(metadata)


def test_add_replaces_the_mapping_instead_of_changing_it() -> None:
    """`add` replaces the mapping of classes instead of changing it.

    Readers take no lock, so a mapping that they have read must not change.
    """
    registry = user_types_of_schema()
    empty = registry.classes
    registry.add("ks", "address", Address)
    with_address = registry.classes
    registry.add("ks", "phone", int)
    registry.add("other", "address", str)
    assert empty == {}
    assert with_address == {"ks": {"address": Address}}
    assert registry.classes == {"ks": {"address": Address, "phone": int}, "other": {"address": str}}


def test_classes_that_threads_register_at_once() -> None:
    """No class is lost if two threads register classes at once, and the engine gets both."""
    registry = user_types_of_schema()
    core: Any = SimpleNamespace(user_types={})
    other_thread = threading.Thread(target=registry.add, args=("ks", "phone", int, core))

    class Name(str):
        """A name that lets the other thread run while a mapping with this name is being made."""

        __slots__ = ()

        def __hash__(self) -> int:
            if not other_thread.ident:
                other_thread.start()
                other_thread.join(0.05)
            return super().__hash__()

    registry.add("ks", Name("address"), Address, core)
    other_thread.join()
    assert registry.classes == {"ks": {"address": Address, "phone": int}}
    assert core.user_types is registry.classes
    registry.add("ks", "address", str)
    assert core.user_types != registry.classes
    registry.pass_to(core)
    assert core.user_types is registry.classes


def test_fields_come_from_the_schema_before_fields_that_were_read() -> None:
    """Fields in the schema metadata take precedence over fields that were read for a single type.

    `take_fields` stores fields that were read for a single type. They are used only if the metadata
    does not have the type.
    """
    registry = user_types_of_schema(address=["street", "zip"])
    registry.take_fields("ks", "address", ["street"])
    registry.take_fields("ks", "phone", ["number"])
    assert registry.fields("ks", "address") == ["street", "zip"]
    assert registry.fields("ks", "phone") == ["number"]
    for keyspace in ("ks", "other"):
        with pytest.raises(UserTypeDoesNotExist, match=f"no user-defined type {keyspace}.none"):
            registry.fields(keyspace, "none")


async def test_reading_the_fields_of_a_missing_type_raises() -> None:
    """`read_fields` stores the fields of registered types, and raises if a type does not exist."""
    registry = user_types_of_schema()

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
