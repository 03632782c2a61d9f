"""Test user-defined types that are declared as subclasses of the mapper's UserType."""

from __future__ import annotations

import copy
import pickle
import warnings
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import cqltypes
from cassandra.cqlengine import ValidationError, columns as c, connection
from cassandra.cqlengine.usertype import UserType, UserTypeDefinitionException
from cassandra.cqltypes.udt import make_named_tuple, value_of_fields


class Address(UserType):
    street = c.Text()
    number = c.Integer(db_field="no")


def test_user_types_give_access_to_fields_and_notice_changes() -> None:
    """An instance's fields can be read in several ways, and the instance notices changes."""
    address = Address(street="a", no=1)
    assert address.street == "a"
    assert address["number"] == 1
    assert address.keys() == ["street", "number"]
    assert address.values() == ["a", 1]
    assert len(address) == 2
    assert dict(address.items()) == {"street": "a", "number": 1}
    assert repr(address) == "Address(street='a', number=1)"
    assert str(address) == "{'street': a, 'number': 1}"
    # A new instance counts as changed. A saved instance does not, until a field is assigned.
    assert address.has_changed_fields()
    address.reset_changed_fields()
    assert not address.has_changed_fields()
    address["street"] = "b"
    assert address.has_changed_fields()
    assert address != Address(street="a", number=1)
    with pytest.raises(KeyError):
        address["zip"]
    with pytest.raises(UserTypeDefinitionException, match="key"):
        type("Bad", (UserType,), {"a": c.Text(primary_key=True)})
    with pytest.raises(UserTypeDefinitionException, match="conflicts"):
        type("Bad", (UserType,), {"keys": c.Text()})


def test_fields_whose_db_names_are_not_identifiers_are_read_from_rows() -> None:
    """Fields whose database names are not identifiers are read from rows and written."""

    class Parcel(UserType):
        street = c.Text()
        zip_code = c.Text(db_field="Zip Code")
        category = c.Text(db_field="class")

    # The values of a row are in the order of the type in the database, which may differ from the
    # order in the class.
    row_type = make_named_tuple("parcel", ("class", "street", "Zip Code"))
    assert row_type is not None
    parcel = Parcel.from_value(row_type("k", "s", "z"))
    assert parcel == Parcel(street="s", zip_code="z", category="k")
    assert parcel.to_database() == {"street": "s", "Zip Code": "z", "class": "k"}


class Profile(Address):
    tags = c.List(c.Text)
    level = c.Integer(default=3)
    note = c.Text(required=False)


# -- declarations ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "field",
    [c.Text(primary_key=True), c.Text(partition_key=True), c.Text(static=True), c.Counter()],
)
def test_keys_counters_and_static_columns_cannot_be_fields(field: Any) -> None:
    """Keys, counters and static columns are refused as fields of a user-defined type."""
    with pytest.raises(UserTypeDefinitionException, match="must not be a key, a counter or static"):
        type("Bad", (UserType,), {"a": field})


def test_two_fields_may_not_have_one_name_in_the_database() -> None:
    """Two fields with the same name in the database are refused."""
    fields = {"a": c.Text(db_field="x"), "b": c.Text(db_field="x")}
    with pytest.raises(UserTypeDefinitionException, match="defines the field 'x' more than once"):
        type("Bad", (UserType,), fields)


def test_the_name_of_a_field_in_the_database_may_not_be_another_attribute() -> None:
    """Values of rows have the names in the database, so they would be read into wrong fields."""
    for fields in (
        {"a": c.Integer(db_field="b"), "b": c.Integer(db_field="c")},
        {"a": c.Integer(db_field="b"), "b": c.Integer(db_field="a")},
    ):
        with pytest.raises(UserTypeDefinitionException, match="'b' for field 'a' of Bad conflict"):
            type("Bad", (UserType,), fields)


def test_fields_are_inherited_and_keep_the_order_of_their_declaration() -> None:
    """A subclass has the fields of its base class first, in the order of declaration."""
    assert Profile().keys() == ["street", "number", "tags", "level", "note"]
    assert list(Profile.fields()) == Profile().keys()
    assert list(Profile()) == Profile().keys()
    assert list(Address.fields()) == ["street", "number"]
    # A subclass may declare an inherited field again, which does not change the base class.
    renamed: Any = type("Renamed", (Address,), {"street": c.Text(db_field="st")})
    assert renamed.street.db_field_name == "st"
    assert Address.fields()["street"].db_field_name == "street"


def test_a_field_is_also_found_by_its_name_in_the_database() -> None:
    """A field can be read and set by its name in the database, too."""
    address: Any = Address(number=1)
    assert address.no == 1
    address.no = 2
    assert address.number == 2
    address_class: Any = Address
    assert address_class.number is Address.fields()["number"]


@pytest.mark.parametrize(
    ("name", "own", "expected"),
    [("HomeAddress", None, "home_address"), ("Any", "My_Type", "my_type")],
)
def test_the_name_of_the_type(name: str, own: str | None, expected: str) -> None:
    """The type's name is ``__type_name__``, or derived from the name of the class."""
    cls: Any = type(name, (UserType,), {"a": c.Text(), "__type_name__": own})
    assert cls.type_name() == expected


# -- values ----------------------------------------------------------------------------------------


def test_fields_without_a_value_have_their_default_or_are_null() -> None:
    """A field without a value has its default, or is null."""
    profile: Any = Profile(street="a")
    assert profile.street == "a"
    assert profile.level == 3
    assert profile.number is None
    assert profile.note is None
    assert Profile(level=None).level is None


def test_an_empty_collection_can_be_changed_in_place() -> None:
    """An empty collection in a field can be changed in place."""
    profile = Profile()
    assert profile.to_database()["tags"] == []
    profile.tags.append("x")
    assert profile.tags == ["x"]
    assert profile.to_database() == {
        "street": None,
        "no": None,
        "tags": ["x"],
        "level": 3,
        "note": None,
    }


def test_deleting_a_field_sets_it_to_null() -> None:
    """Deleting a field sets it to null."""
    address = Address(street="a")
    del address.street
    assert address.street is None


def test_validation_converts_values_and_refuses_others() -> None:
    """`validate` converts the values of fields, and refuses values that do not fit."""
    address: Any = Address(street="a")
    address.number = "5"
    address.validate()
    assert address.number == 5
    address.number = "five"
    with pytest.raises(ValidationError):
        address.validate()


def test_items_are_set_and_read_by_the_names_of_fields_only() -> None:
    """Items are set and read only by the names of fields."""
    address = Address()
    address["number"] = 5
    assert address.number == 5
    with pytest.raises(KeyError):
        address["keys"] = 5
    with pytest.raises(KeyError):
        address["keys"]


@pytest.mark.parametrize(
    "value",
    [
        {"street": "a", "number": 1},
        {"street": "a", "no": 1},
        ("a", 1),
        SimpleNamespace(street="a", number=1),
        value_of_fields("address", ("no", "street"), (1, "a")),
    ],
)
def test_instances_are_made_from_values_with_the_fields(value: Any) -> None:
    """`from_value` creates an instance from mappings, objects and rows with the fields."""
    assert Address.from_value(value) == Address(street="a", number=1)


def test_a_value_from_before_a_field_was_added_is_shorter() -> None:
    """A value that was stored before a field was added lacks this field, which is null.

    Servers do not rewrite stored values when a field is added to the type.
    """
    assert Address.from_value(("a",)) == Address(street="a", number=None)


@pytest.mark.parametrize("value", [5, SimpleNamespace(street="a"), "text"])
def test_other_values_cannot_become_an_instance(value: Any) -> None:
    """`from_value` returns None for objects without the fields of the type."""
    assert Address.from_value(value) is None


def test_a_type_without_fields_is_made_from_mappings_only() -> None:
    """`from_value` of a type without fields accepts only mappings.

    Any object has all of no attributes, so other objects must be refused.
    """
    empty: Any = type("Empty", (UserType,), {})
    assert empty.from_value(object()) is None
    assert empty.from_value({}) == empty()


# -- changes ---------------------------------------------------------------------------------------


def test_a_change_in_place_is_a_change_and_an_empty_collection_is_null() -> None:
    """A change in place counts as a change; an empty collection counts as null."""
    profile = Profile(street="a")
    profile.reset_changed_fields()
    # Reading stores an empty list, which is the same as null in the database.
    assert profile.tags == []
    assert not profile.has_changed_fields()
    profile.tags.append("x")
    assert profile.has_changed_fields()
    profile.reset_changed_fields()
    assert not profile.has_changed_fields()
    profile.tags.clear()
    assert profile.has_changed_fields()


def test_a_copy_and_its_original_change_independently() -> None:
    """A copy of an instance and its original notice changes independently."""
    original = Profile(street="a", tags=["x"])
    duplicate = original._copy({"street": None})
    assert duplicate == original
    assert not duplicate.has_changed_fields()
    assert not original.has_changed_fields()
    duplicate.tags.append("y")
    assert original.tags == ["x"]
    assert duplicate.has_changed_fields()
    # The original's list is compared with a copy of the list, which was made when the original was
    # saved.
    assert original.has_changed_fields()


def test_only_instances_of_the_same_class_are_equal() -> None:
    """Instances are equal only if they have the same class and values."""
    assert Address(street="a") == Address(street="a")
    assert Address(street="a") != Address(street="b")
    same: Any = type("Same", (Address,), {})
    assert Address(street="a") != same(street="a")
    assert Address() != {"street": None, "number": None}
    with pytest.raises(TypeError, match="unhashable"):
        hash(Address())


# -- registration ----------------------------------------------------------------------------------


def test_a_type_is_registered_for_a_keyspace_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """`register_for_keyspace` registers the class under the type's name."""
    monkeypatch.setattr(connection, "udt_by_keyspace", {"ks": {}})
    Address.register_for_keyspace("ks")
    assert connection.udt_by_keyspace == {"ks": {"address": Address}}


def test_a_misspelt_field_is_warned_of() -> None:
    """A misspelled field causes a warning, because its value is lost.

    Each name is reported once, as in models.
    """

    class Home(UserType):
        street = c.Text()
        number = c.Integer(db_field="no")

    with pytest.warns(RuntimeWarning, match=r"Home\.stret is not .* did you mean 'street'") as seen:
        assert Home(stret="a", no=1).street is None
    assert [warning.filename for warning in seen] == [__file__]
    # A mapping may replace an instance, as in ``Model.create(home={...})``.
    with pytest.warns(RuntimeWarning, match=r"Home\.nmuber .* did you mean 'number'"):
        Home.from_value({"street": "a", "nmuber": 1})


def test_fields_of_the_server_are_not_misspelt() -> None:
    """Fields of the server that the class lacks are not reported as misspelled.

    ALTER TYPE may have added or renamed a field.
    """

    class Place(UserType):
        streets = c.Text()

    row_type = make_named_tuple("place", ("street", "zip"))
    assert row_type is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Place.from_value(row_type("s", 1)) == Place()
        assert Place(zip=5) == Place()  # "zip" is not similar to a field.


def test_values_without_names_are_refused() -> None:
    """Values without names are refused, and the error shows the right call."""
    address: Any = Address
    with pytest.raises(TypeError, match=r"names of fields: write Address\(street=\.\.\.\)$"):
        address("a")
    with pytest.raises(TypeError, match=r"write Address\(\*\*values\), with two asterisks"):
        address({"street": "a"})


def test_an_attribute_that_is_no_field_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """An attribute whose name is similar to a field's is logged once, as it is not written.

    Each name is reported once, as in models.
    """

    class Site(UserType):
        street = c.Text()

    site: Any = Site()
    site.stret = "a"
    site.note = "an attribute of the application"
    for _ in range(2):
        assert site.to_database() == {"street": None}
    assert [record.getMessage() for record in caplog.records] == [
        "Site.stret is not a column and is not written; did you mean 'street'?"
    ]


def row_values(street: str, note: str, cls: type[Address] = Address) -> list[Address]:
    """Return an address with a field that `Address` lacks, in two forms.

    The first was read from a named tuple, and the second from a row whose type has `cls`
    registered.
    """
    row_type = make_named_tuple("address", ("street", "note", "no"))
    assert row_type is not None
    named = cls.from_value(row_type(street, note, 5))
    assert named is not None
    cql_type: Any = cqltypes.UserType.make_udt_class(
        "ks",
        "address",
        ("street", "note", "no"),
        (cqltypes.UTF8Type, cqltypes.UTF8Type, cqltypes.Int32Type),
        mapped_class=cls,
    )
    encoded = cql_type.to_binary({"street": street, "note": note, "no": 5}, 4)
    return [named, cql_type.from_binary(encoded, 4)]


@pytest.mark.parametrize("is_registered", [False, True])
def test_fields_that_a_class_does_not_declare_are_written_back(is_registered: bool) -> None:
    """A field that the class does not declare is kept and written back.

    A newer version of an application may have added the field to the type. An older version, whose
    class lacks the field, must not remove the field's value when it changes another field.
    """
    column: Any = c.List(c.UserDefinedType(Address))
    [address] = column.to_python([row_values("a", "keep")[is_registered]])
    assert dict(address) == {"street": "a", "number": 5}
    assert address == Address(street="a", number=5)
    expected = {"street": "b", "no": 5, "note": "keep"}
    for duplicate in (address, copy.copy(address), pickle.loads(pickle.dumps(address))):
        duplicate.street = "b"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert column.to_database([duplicate]) == [expected]
            assert column.to_database(column._isolator()([duplicate])) == [expected]
    address.validate()
    assert address.to_database() == expected


@pytest.mark.parametrize("is_registered", [False, True])
def test_classes_with_a_constructor_of_their_own_write_fields_back_as_well(
    is_registered: bool,
) -> None:
    """Undeclared fields are also written back if the class has its own constructor."""

    class Home(Address):
        def __init__(self, **values: Any) -> None:
            super().__init__(**values)
            self.is_own = True

    column: Any = c.UserDefinedType(Home)
    home = column.to_python(row_values("a", "keep", Home)[is_registered])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert home.to_database() == {"street": "a", "no": 5, "note": "keep"}
    made = Home(street="a", number=5, note="lost")
    assert made.to_database() == {"street": "a", "no": 5}


def test_names_that_an_application_passes_without_a_field_are_not_written() -> None:
    """Names without a field that an application passes are not written."""
    other = SimpleNamespace(_asdict=lambda: {"street": "a", "number": 5, "color": "red"})
    for address in (
        Address(street="a", number=5, color="red"),
        Address.from_value({"street": "a", "no": 5, "color": "red"}),
        Address.from_value(other),
    ):
        assert address is not None
        assert address.to_database() == {"street": "a", "no": 5}


def test_undeclared_fields_of_types_in_types_are_written_back() -> None:
    """Undeclared fields of user-defined types inside other types are written back, too.

    The instances of registered classes in an undeclared field are written with the fields that they
    do not declare.
    """

    class Parcel(UserType):
        weight = c.Integer()

    # The database's type `address` has a field `note`, which the class Address does not declare.
    address_type: Any = cqltypes.UserType.make_udt_class(
        "ks",
        "address",
        ("street", "note", "no"),
        (cqltypes.UTF8Type, cqltypes.UTF8Type, cqltypes.Int32Type),
        mapped_class=Address,
    )
    text_type: Any = cqltypes.UTF8Type
    # The database's type `parcel` contains addresses in types of each kind. The class Parcel does
    # not declare these fields.
    contents = {
        "one": address_type,
        "some": cqltypes.ListType.apply_parameters([address_type]),
        "unique": cqltypes.SetType.apply_parameters([address_type]),
        "named": cqltypes.MapType.apply_parameters([text_type, address_type]),
        "pair": cqltypes.TupleType.apply_parameters([text_type, address_type]),
    }
    parcel_type: Any = cqltypes.UserType.make_udt_class(
        "ks",
        "parcel",
        ("weight", *contents),
        (cqltypes.Int32Type, *contents.values()),
        mapped_class=Parcel,
    )
    address = {"street": "a", "note": "keep", "no": 5}
    value = {
        "weight": 1,
        "one": address,
        "some": [address, address],
        "unique": [address],
        "named": {"x": address},
        "pair": ("x", address),
    }
    encoded = parcel_type.to_binary(value, 4)
    parcel = parcel_type.from_binary(encoded, 4)
    # Only declared fields are visible, but all fields are written back.
    assert dict(parcel) == {"weight": 1}
    assert parcel_type.to_binary(parcel.to_database(), 4) == encoded
