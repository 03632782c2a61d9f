"""Context managers that choose the keyspace or connection of a model."""

from __future__ import annotations

import pytest

from cassandra.cqlengine.query import ContextQuery
from tests.unit.cqlengine.conftest import FakeSession
from tests.unit.cqlengine.test_models import Cat, Person


def test_a_context_changes_the_keyspace_of_its_models(session: FakeSession) -> None:
    with ContextQuery(Person, Cat, keyspace="elsewhere") as (person, cat):
        assert person.column_family_name() == "elsewhere.person"
        assert cat.column_family_name() == "elsewhere.pet"
        person.create(id=1)
    assert session.last_statement[0] == 'INSERT INTO elsewhere.person ("id", "age") VALUES (?, ?)'
    assert Person.column_family_name() == "ks.person"
    # A context manager needs at least one model, and accepts only models.
    for arguments in ((), (4,)):
        with pytest.raises(ValueError, match=r"[Mm]odel"):
            ContextQuery(*arguments)
