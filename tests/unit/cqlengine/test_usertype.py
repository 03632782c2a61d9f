"""User-defined types as classes of the mapper."""

from __future__ import annotations

import pytest

from cassandra.cqlengine import columns as c
from cassandra.cqlengine.usertype import UserType, UserTypeDefinitionException


class Address(UserType):
    street = c.Text()
    number = c.Integer(db_field="no")


def test_user_types() -> None:
    one = Address(street="a", no=1)
    assert (one.street, one["number"], one.keys(), one.values(), len(one)) == (
        "a",
        1,
        ["street", "number"],
        ["a", 1],
        2,
    )
    assert dict(one.items()) == {"street": "a", "number": 1}
    assert repr(one) == "Address(street='a', number=1)"
    assert str(one) == "{'street': a, 'number': 1}"
    changed = [one.has_changed_fields()]
    one.reset_changed_fields()
    changed.append(one.has_changed_fields())
    one["street"] = "b"
    changed.append(one.has_changed_fields())
    assert changed == [True, False, True]
    assert one != Address(street="a", number=1)
    with pytest.raises(KeyError):
        one["zip"]
    with pytest.raises(UserTypeDefinitionException, match="key"):
        type("Bad", (UserType,), {"a": c.Text(primary_key=True)})
    with pytest.raises(UserTypeDefinitionException, match="conflicts"):
        type("Bad", (UserType,), {"keys": c.Text()})
