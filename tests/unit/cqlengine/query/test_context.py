"""Test `ContextQuery`, which chooses another keyspace or connection for models."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable

import pytest

from cassandra.cqlengine.query import ContextQuery
from tests.unit.cqlengine.conftest import FakeSession
from tests.unit.cqlengine.test_models import Cat, Person


def test_a_context_changes_the_keyspace_of_its_models(session: FakeSession) -> None:
    """Inside a ContextQuery, its models use another keyspace; outside they are unchanged."""
    with ContextQuery(Person, Cat, keyspace="elsewhere") as (person, cat):
        assert person.column_family_name() == "elsewhere.person"
        assert cat.column_family_name() == "elsewhere.pet"
        person.create(id=1)
    assert session.last_statement[0] == 'INSERT INTO elsewhere.person ("id", "age") VALUES (?, ?)'
    assert Person.column_family_name() == "ks.person"
    # ContextQuery needs at least one model, and accepts only models.
    for arguments in ((), (4,)):
        with pytest.raises(ValueError, match=r"[Mm]odel"):
            ContextQuery(*arguments)


def warnings_of(call: Callable[[], object]) -> list[str]:
    """Call the function, and return the messages of its warnings, which must name this file."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    assert all(warning.filename == __file__ for warning in seen)
    return [str(warning.message) for warning in seen]


def without_a_name() -> None:
    with ContextQuery(Person, keyspace="elsewhere"):
        pass


def with_a_name() -> None:
    with ContextQuery(Person, keyspace="elsewhere") as person:
        assert person is not Person


def with_a_variable() -> None:
    context = ContextQuery(Person, keyspace="elsewhere")
    with context:
        assert context.models[0] is not Person


def made_by_another_function() -> None:
    """Enter a context that a nested function has created."""

    def make() -> ContextQuery:
        return ContextQuery(Person, keyspace="elsewhere")

    with make():
        pass


def on_a_stack() -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context(ContextQuery(Person, keyspace="elsewhere"))


def test_a_context_without_a_name_has_no_effect() -> None:
    """A ContextQuery without `as` causes a warning, because only the name has the new keyspace."""
    for _ in range(20):  # Python specializes the code of functions that are called often.
        [message] = warnings_of(without_a_name)
        assert "write `with ContextQuery(Model, ...) as Other:`" in message
    for call in (with_a_name, with_a_variable, made_by_another_function, on_a_stack):
        for _ in range(20):
            assert warnings_of(call) == []


def test_other_arguments_than_models_get_advice() -> None:
    """The error for arguments that are not models shows the right call."""
    with pytest.raises(ValueError, match=r"Write ContextQuery\(Model, keyspace='elsewhere'\)\.$"):
        ContextQuery(Person, "elsewhere")
    with pytest.raises(ValueError, match=r"Write ContextQuery\(\*models, keyspace=\.\.\.\)\.$"):
        ContextQuery([Person, Cat], keyspace="elsewhere")
