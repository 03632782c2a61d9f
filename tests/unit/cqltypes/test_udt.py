"""Test the classes of user-defined types: their names, fields, and when they are shared."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.cqltypes.udt import make_named_tuple, with_subtypes
from tests.unit.cqltypes.samples import INT, TEXT, list_of, map_of, vector_of

PACKAGE = "org.apache.cassandra.db.marshal."


@pytest.mark.parametrize("name", ["order", "key", "Upper", 'a"b', "odd name"])
def test_the_name_of_a_type_is_quoted_if_it_is_reserved_or_unusual(name: str) -> None:
    """The name of a user-defined type is quoted if it is reserved or not a plain identifier."""
    user_type = t.UserType.make_udt_class("ks", name, ["a"], [INT])
    assert user_type.cql_parameterized_type() == 'frozen<"{}">'.format(name.replace('"', '""'))


def test_equal_definitions_share_one_class() -> None:
    """Equal definitions of a type share one class.

    A new class is created if the definition changes or the class is evicted.
    """
    user_type = t.UserType.make_udt_class("ks", "shared", ["a", "b"], [INT, INT])
    same_type = t.UserType.make_udt_class("ks", "shared", ("a", "b"), (INT, INT))
    assert user_type is same_type
    changed_type = t.UserType.make_udt_class("ks", "shared", ["a"], [INT])
    assert changed_type is not user_type
    t.UserType.evict_udt_class("ks", "shared")
    assert t.UserType.make_udt_class("ks", "shared", ["a"], [INT]) is not changed_type


def test_each_field_has_a_name_and_a_type() -> None:
    """Different numbers of field names and field types raise ValueError."""
    with pytest.raises(ValueError, match="2 field names and 1 field types"):
        t.UserType.make_udt_class("ks", "u", ["a", "b"], [INT])


def test_values_with_unusual_field_names_are_decoded() -> None:
    """A value is decoded even if some field names are not valid Python identifiers."""
    names = ["a", "b c", "class", "_x"]
    user_type = t.UserType.make_udt_class("ks", "odd name", names, [INT] * 4)
    value = user_type.codec().decode(bytes.fromhex("00000004" + "00000001") * 4)
    assert value == (1, 1, 1, 1)
    assert value.a == 1


def test_fields_that_are_not_identifiers_are_named_by_position() -> None:
    """A field whose name is not valid in Python gets its position as its attribute's name.

    Values are named tuples, whose attributes must be identifiers.
    """
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
    """If two fields have the same name, values are plain tuples."""
    user_type = t.UserType.make_udt_class("ks", "twice", ("a", "a"), (t.Int32Type, t.Int32Type))
    assert user_type.tuple_type is None
    value = user_type.deserialize(user_type.serialize((1, 2), 4), 4)
    assert type(value) is tuple
    assert value == (1, 2)


class RegisteredClass:
    """A class that an application registers for a type."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields


# These bytes are two fields of four bytes each: the ints 1 and 2.
ONE_AND_TWO = bytes.fromhex("00000004 00000001 00000004 00000002")


def test_values_have_the_class_that_the_application_has_registered() -> None:
    """A value is decoded to the registered class of its type.

    Without a registered class, values are named tuples whose class has the name of the type.
    """

    def decode(mapped_class: Any) -> Any:
        user_type = t.UserType.make_udt_class("ks", "pair", ["a", "b"], [INT, INT], mapped_class)
        return user_type.codec().decode(ONE_AND_TWO)

    as_dict = decode(dict)
    assert type(as_dict) is dict
    assert as_dict == {"a": 1, "b": 2}
    assert decode(RegisteredClass).fields == {"a": 1, "b": 2}
    named_tuple = decode(None)
    assert named_tuple == (1, 2)
    assert named_tuple._fields == ("a", "b")
    assert type(named_tuple).__name__ == "pair"


def test_classes_differ_by_each_part_of_the_definition() -> None:
    """Types that differ in any part of their definition have different classes.

    The parts are the keyspace, the name, the names and types of fields, and the registered class.
    """
    definitions: list[Any] = [
        ("ks", "u", ["a"], [INT], None),
        ("other", "u", ["a"], [INT], None),
        ("ks", "v", ["a"], [INT], None),
        ("ks", "u", ["b"], [INT], None),
        ("ks", "u", ["a"], [TEXT], None),
        ("ks", "u", ["a"], [INT], RegisteredClass),
    ]
    classes = [t.UserType.make_udt_class(*definition) for definition in definitions]
    assert len(set(classes)) == len(classes)
    assert [t.UserType.make_udt_class(*definition) for definition in definitions] == classes
    # Evicting a type removes only the classes of this type.
    t.UserType.evict_udt_class("ks", "u")
    new_classes = [t.UserType.make_udt_class(*definition) for definition in definitions]
    for definition, old_class, new_class in zip(definitions, classes, new_classes, strict=True):
        is_evicted = definition[:2] == ("ks", "u")
        assert (new_class is not old_class) == is_evicted


def test_the_servers_name_of_a_type_leads_to_its_class() -> None:
    """A class is found by the server's name for its type.

    The server writes the names of the type and of its fields in hexadecimal.
    """
    cls = t.UserType.make_udt_class("ks", "address", ["street", "no"], [TEXT, INT])
    short = "UserType(ks, 61646472657373, 737472656574:UTF8Type, 6e6f:Int32Type)"
    assert cls.cass_parameterized_type() == short
    full = cls.cass_parameterized_type(full=True)
    assert full == (
        f"{PACKAGE}UserType(ks, 61646472657373, 737472656574:{PACKAGE}UTF8Type, "
        f"6e6f:{PACKAGE}Int32Type)"
    )
    assert t.lookup_casstype(full) is cls
    assert t.lookup_casstype(short) is cls


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ([], "has a keyspace and a name"),
        (["ks"], "has a keyspace and a name"),
        (["ks", "xyz"], "is not the hex code of a name"),
        (["ks", "ff"], "is not the hex code of a name"),
    ],
)
def test_a_malformed_name_of_the_server_is_refused(parameters: list[Any], message: str) -> None:
    """A malformed name of a user-defined type raises ValueError."""
    with pytest.raises(ValueError, match=message):
        t.UserType.apply_parameters(parameters)


def test_values_survive_pickling_with_their_class() -> None:
    """An unpickled value has the same class as the original value.

    Unpickling finds the named tuple's class by the names of its type and fields.
    """
    cls = t.UserType.make_udt_class("ks", "odd name", ["a", "b c"], [INT, INT])
    value = cls.codec().decode(ONE_AND_TWO)
    copied = pickle.loads(pickle.dumps(value))
    assert copied == value
    assert type(copied) is type(value)
    assert type(value).__name__ == "udt"
    assert type(value).__database_names__ == ("a", "b c")


@pytest.mark.parametrize(
    ("type_name", "class_name"),
    [("address", "address"), ("odd name", "udt"), ("class", "udt"), ("stra\u00dfe", "udt")],
)
def test_the_class_of_values_has_a_valid_name(type_name: str, class_name: str) -> None:
    """The class of named tuples is called like the type, or "udt".

    It is called "udt" if the type's name is not an identifier in ASCII, or is a keyword. The class
    is created only once.
    """
    tuple_class = make_named_tuple(type_name, ("a",))
    assert tuple_class is not None
    assert tuple_class.__name__ == class_name
    assert make_named_tuple(type_name, ("a",)) is tuple_class


def test_types_with_other_subtypes_are_like_the_original() -> None:
    """`with_subtypes` returns a type that differs only in the types of its fields or elements."""
    address = t.UserType.make_udt_class("ks", "address", ["no"], [INT])
    changed_address = with_subtypes(address, [TEXT], RegisteredClass)
    assert issubclass(changed_address, t.UserType)
    assert changed_address.keyspace == "ks"
    assert changed_address.typename == "address"
    assert changed_address.fieldnames == ("no",)
    assert changed_address.subtypes == (TEXT,)
    assert changed_address.mapped_class is RegisteredClass
    assert with_subtypes(list_of(INT), [TEXT]) is list_of(TEXT)
    assert with_subtypes(map_of(INT, INT), [TEXT, INT]) is map_of(TEXT, INT)
    assert with_subtypes(vector_of(INT, 3), [t.FloatType]) is vector_of(t.FloatType, 3)


def test_errors_name_the_type_with_its_keyspace_if_it_has_one() -> None:
    """The error for a wrong field names the type with its keyspace, if it has a keyspace."""
    for keyspace, name in (("ks", "ks.pair"), ("", "pair")):
        cls = t.UserType.make_udt_class(keyspace, "pair", ["a"], [INT])
        with pytest.raises(ValueError, match=f"of {name}: "):
            cls.codec().encode(("x",))
