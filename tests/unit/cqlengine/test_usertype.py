"""User-defined types as classes of the mapper."""

from __future__ import annotations

import pytest

from cassandra.cqlengine import columns as c
from cassandra.cqlengine.usertype import UserType, UserTypeDefinitionException
from cassandra.cqltypes.udt import make_named_tuple


class Address(UserType):
    street = c.Text()
    number = c.Integer(db_field="no")


def test_user_types_give_access_to_fields_and_notice_changes() -> None:
    """Instances of user-defined types give access to their fields and notice changes."""
    address = Address(street="a", no=1)
    assert (address.street, address["number"], address.keys(), address.values(), len(address)) == (
        "a",
        1,
        ["street", "number"],
        ["a", 1],
        2,
    )
    assert dict(address.items()) == {"street": "a", "number": 1}
    assert repr(address) == "Address(street='a', number=1)"
    assert str(address) == "{'street': a, 'number': 1}"
    # A new instance has changed, a saved one has not until a field is assigned.
    has_changed = [address.has_changed_fields()]
    address.reset_changed_fields()
    has_changed.append(address.has_changed_fields())
    address["street"] = "b"
    has_changed.append(address.has_changed_fields())
    assert has_changed == [True, False, True]
    assert address != Address(street="a", number=1)
    with pytest.raises(KeyError):
        address["zip"]
    with pytest.raises(UserTypeDefinitionException, match="key"):
        type("Bad", (UserType,), {"a": c.Text(primary_key=True)})
    with pytest.raises(UserTypeDefinitionException, match="conflicts"):
        type("Bad", (UserType,), {"keys": c.Text()})


def test_fields_whose_db_names_are_not_identifiers_are_read_from_rows() -> None:
    class Parcel(UserType):
        street = c.Text()
        zip_code = c.Text(db_field="Zip Code")
        category = c.Text(db_field="class")

    # Rows have the order of the type in the database, which may differ from that of the class.
    row_type = make_named_tuple("parcel", ("class", "street", "Zip Code"))
    parcel = Parcel.from_value(row_type("k", "s", "z"))
    assert parcel == Parcel(street="s", zip_code="z", category="k")
    assert parcel.to_database() == {"street": "s", "Zip Code": "z", "class": "k"}
