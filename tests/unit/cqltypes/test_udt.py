"""Classes of user-defined types: their names and fields."""

from __future__ import annotations

import pytest

from cassandra import cqltypes as t
from tests.unit.cqltypes.samples import INT


@pytest.mark.parametrize("name", ["order", "key", "Upper", 'a"b'])
def test_the_name_of_a_type_is_quoted_if_it_is_reserved_or_unusual(name: str) -> None:
    user_type = t.UserType.make_udt_class("ks", name, ["a"], [INT])
    assert user_type.cql_parameterized_type() == 'frozen<"{}">'.format(name.replace('"', '""'))


def test_user_type_classes() -> None:
    """Equal definitions share a class until they change or are evicted."""
    user_type = t.UserType.make_udt_class("ks", "odd name", ["a", "b c", "class", "_x"], [INT] * 4)
    same_type = t.UserType.make_udt_class("ks", "odd name", ("a", "b c", "class", "_x"), (INT,) * 4)
    assert user_type is same_type
    assert user_type.cql_parameterized_type() == 'frozen<"odd name">'
    value = user_type.codec().decode(bytes.fromhex("0000000400000001" * 4))
    assert value == (1, 1, 1, 1)
    assert value.a == 1
    changed_type = t.UserType.make_udt_class("ks", "odd name", ["a"], [INT])
    assert changed_type is not user_type
    t.UserType.evict_udt_class("ks", "odd name")
    assert t.UserType.make_udt_class("ks", "odd name", ["a"], [INT]) is not changed_type
    with pytest.raises(ValueError, match="2 field names and 1 field types"):
        t.UserType.make_udt_class("ks", "u", ["a", "b"], [INT])


def test_fields_that_are_not_identifiers_are_named_by_position() -> None:
    names = ("a", "class", "_x", "1a", "a b", "A", "\u00e9")
    user_type = t.UserType.make_udt_class("ks", "odd", names, (t.Int32Type,) * 7)
    assert user_type.tuple_type._fields == (
        "a",
        "field_1_",
        "field_2_",
        "field_3_",
        "field_4_",
        "A",
        "\u00e9",
    )


def test_duplicate_field_names_make_plain_tuples() -> None:
    user_type = t.UserType.make_udt_class("ks", "twice", ("a", "a"), (t.Int32Type, t.Int32Type))
    assert user_type.tuple_type is None
    value = user_type.deserialize(user_type.serialize((1, 2), 4), 4)
    assert (type(value), value) == (tuple, (1, 2))
