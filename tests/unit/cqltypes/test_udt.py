"""Classes of user-defined types: their names, their fields, and when they are shared."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.cqltypes.udt import make_named_tuple, with_subtypes
from tests.unit.cqltypes.samples import INT, TEXT, list_of, map_of, vector_of

MARSHAL = "org.apache.cassandra.db.marshal."


@pytest.mark.parametrize("name", ["order", "key", "Upper", 'a"b'])
def test_the_name_of_a_type_is_quoted_if_it_is_reserved_or_unusual(name: str) -> None:
    user_type = t.UserType.make_udt_class("ks", name, ["a"], [INT])
    assert user_type.cql_parameterized_type() == 'frozen<"{}">'.format(name.replace('"', '""'))


def test_user_type_classes() -> None:
    """Equal definitions of a type share one class, until the definition changes or the class is
    evicted.
    """
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


class Mapped:
    """A class that an application registers for a type."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields


# The body has two fields of four bytes each: the ints 1 and 2.
ONE_AND_TWO = bytes.fromhex("00000004 00000001 00000004 00000002")


def test_values_have_the_class_that_the_application_has_registered() -> None:
    def decoded(mapped: Any) -> Any:
        cls = t.UserType.make_udt_class("ks", "pair", ["a", "b"], [INT, INT], mapped)
        return cls.codec().decode(ONE_AND_TWO)

    assert decoded(dict) == {"a": 1, "b": 2}
    assert type(decoded(dict)) is dict
    assert decoded(Mapped).fields == {"a": 1, "b": 2}
    named = decoded(None)
    assert (type(named).__name__, named._fields, named) == ("pair", ("a", "b"), (1, 2))


def test_classes_differ_by_each_part_of_the_definition() -> None:
    definitions: list[Any] = [
        ("ks", "u", ["a"], [INT], None),
        ("other", "u", ["a"], [INT], None),
        ("ks", "v", ["a"], [INT], None),
        ("ks", "u", ["b"], [INT], None),
        ("ks", "u", ["a"], [TEXT], None),
        ("ks", "u", ["a"], [INT], Mapped),
    ]
    classes = [t.UserType.make_udt_class(*definition) for definition in definitions]
    assert len(set(classes)) == len(classes)
    assert [t.UserType.make_udt_class(*definition) for definition in definitions] == classes
    # Evicting a type removes only the classes of that type.
    t.UserType.evict_udt_class("ks", "u")
    new_classes = [t.UserType.make_udt_class(*definition) for definition in definitions]
    is_kept = [new is old for new, old in zip(new_classes, classes, strict=True)]
    assert is_kept == [False, True, True, False, False, False]


def test_the_servers_name_of_a_type_leads_to_its_class() -> None:
    cls = t.UserType.make_udt_class("ks", "address", ["street", "no"], [TEXT, INT])
    short = "UserType(ks, 61646472657373, 737472656574:UTF8Type, 6e6f:Int32Type)"
    assert cls.cass_parameterized_type() == short
    full = cls.cass_parameterized_type(full=True)
    assert full == (
        f"{MARSHAL}UserType(ks, 61646472657373, 737472656574:{MARSHAL}UTF8Type, "
        f"6e6f:{MARSHAL}Int32Type)"
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
    with pytest.raises(ValueError, match=message):
        t.UserType.apply_parameters(parameters)


def test_values_survive_pickling_with_their_class() -> None:
    cls = t.UserType.make_udt_class("ks", "odd name", ["a", "b c"], [INT, INT])
    value = cls.codec().decode(ONE_AND_TWO)
    copied = pickle.loads(pickle.dumps(value))
    assert copied == value
    assert type(copied) is type(value)
    assert type(value).__name__ == "udt"
    assert type(value).__database_names__ == ("a", "b c")


@pytest.mark.parametrize(
    ("name", "title"),
    [("address", "address"), ("odd name", "udt"), ("class", "udt"), ("stra\u00dfe", "udt")],
)
def test_the_class_of_values_has_a_valid_name(name: str, title: str) -> None:
    named = make_named_tuple(name, ("a",))
    assert named is not None
    assert named.__name__ == title
    assert make_named_tuple(name, ("a",)) is named


def test_types_with_other_contents_are_like_the_original() -> None:
    address = t.UserType.make_udt_class("ks", "address", ["no"], [INT])
    changed = with_subtypes(address, [TEXT], Mapped)
    assert issubclass(changed, t.UserType)
    assert (changed.keyspace, changed.typename, changed.fieldnames) == ("ks", "address", ("no",))
    assert (changed.subtypes, changed.mapped_class) == ((TEXT,), Mapped)
    assert with_subtypes(list_of(INT), [TEXT]).cql_parameterized_type() == "list<text>"
    assert with_subtypes(map_of(INT, INT), [TEXT, INT]).cql_parameterized_type() == "map<text, int>"
    vector = with_subtypes(vector_of(INT, 3), [t.FloatType])
    assert issubclass(vector, t.VectorType)
    assert (vector.subtype, vector.vector_size) == (t.FloatType, 3)


def test_errors_name_the_type_with_its_keyspace_if_it_has_one() -> None:
    for keyspace, name in (("ks", "ks.pair"), ("", "pair")):
        cls = t.UserType.make_udt_class(keyspace, "pair", ["a"], [INT])
        with pytest.raises(ValueError, match=f"of {name}: "):
            cls.codec().encode(("x",))
