"""Calls in the style of other mappers, such as Django's ORM, raise errors with advice."""

from __future__ import annotations

import asyncio
import inspect
import re
import traceback
import warnings
from collections.abc import Callable
from typing import Any
from unittest.mock import MagicMock, patch

import pytest

from cassandra.cqlengine import columns
from cassandra.cqlengine.models import BaseModel, Model
from cassandra.cqlengine.query import QueryException
from tests.unit.cqlengine.conftest import FakeSession
from tests.unit.cqlengine.query.test_queryset import Car

KEY: dict[str, Any] = {"maker": "a", "line": 1, "year": 2}
model: Any = Car


def refused(call: Callable[[], Any]) -> str:
    """Return the message of the TypeError that a call raises; a coroutine is awaited."""

    def finish() -> None:
        result = call()
        if asyncio.iscoroutine(result):
            asyncio.run(result)

    with pytest.raises(TypeError) as caught:
        finish()
    return str(caught.value)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: model.create(KEY), "Car.create"),
        (lambda: model.acreate(KEY), "Car.acreate"),
        (lambda: model.objects.create(KEY), "create"),
        (lambda: model.objects.acreate(KEY), "acreate"),
        (lambda: model.objects(**KEY).update({"price": 5}), "update"),
        (lambda: model.objects(**KEY).aupdate({"price": 5}), "aupdate"),
        (lambda: model(**KEY).update({"price": 5}), "update"),
        (lambda: model(**KEY).aupdate({"price": 5}), "aupdate"),
    ],
)
def test_a_mapping_needs_two_asterisks(
    session: FakeSession, call: Callable[[], Any], name: str
) -> None:
    """The error for a mapping instead of keyword arguments says to write `**values`."""
    message = refused(call)
    assert message.startswith(f"{name}() takes values by the names of columns, not a dict: ")
    assert message.endswith(f"{name}(**values)")
    assert session.executions == []


def test_other_values_without_names() -> None:
    """The error for other values without names says what to write."""
    assert refused(lambda: model.objects.create(model(**KEY))).endswith("instance.save()")
    assert "objects.create_many(rows)" in refused(lambda: model.create([KEY, KEY]))
    assert refused(lambda: model.create("a")).endswith("write Car.create(maker=...)")


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda: model.update(price=5), "Model.objects(key=value).update(column=value)"),
        (lambda: model.aupdate(price=5), "Model.objects(key=value).aupdate(column=value)"),
        (lambda: model.delete(), "Model.objects(key=value).delete()"),
        (lambda: model.adelete(), "Model.objects(key=value).adelete()"),
        (lambda: model.save(), "Model.create(column=value)"),
        (lambda: model.asave(), "Model.acreate(column=value)"),
        (lambda: model.validate(), "Model(column=value).validate()"),
    ],
)
def test_methods_of_instances_on_the_class(
    session: FakeSession, call: Callable[[], Any], advice: str
) -> None:
    """The error for a method of instances that is called on the class names the right call."""
    assert re.match(rf"\w+\(\) is a method of instances: .*{re.escape(advice)}", refused(call))
    assert session.executions == []


def test_subclasses_may_override_methods_of_instances(session: FakeSession) -> None:
    """A subclass may override the methods of instances.

    The default of ``self``, by which the driver notices such a call on the class, belongs only to
    the driver's own functions.
    """

    class Own(Car):
        def save(self) -> Any:
            return super().save()

    Own(**KEY).save()
    assert len(session.executions) == 1
    own: Any = Own
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        own.save()
    assert BaseModel.save.__defaults__ is not None


@pytest.mark.parametrize("call", ["only", "defer", "distinct"])
def test_names_are_one_list(call: str) -> None:
    """The error for names as separate arguments says to pass one list."""
    message = refused(lambda: getattr(model.objects, call)("maker", "line"))
    assert message == f"{call}() takes one list of names: write {call}(['maker', 'line'])"


@pytest.mark.parametrize("call", ["delete", "adelete"])
def test_deletes_take_no_filters(session: FakeSession, call: str) -> None:
    """The error for filters as arguments of a delete says to filter first."""
    message = refused(lambda: getattr(model.objects, call)(maker="a", line=1))
    assert message.endswith(f"write objects(maker=..., line=...).{call}()")
    assert "column=..." in refused(lambda: getattr(model.objects, call)(5))
    assert session.executions == []


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda: model.delete(maker="a"), "write objects(maker=...).delete()"),
        (lambda: model(**KEY).adelete(maker="a"), "write objects(maker=...).adelete()"),
        (lambda: model.all(maker="a"), "write objects(maker=...).all()"),
        (lambda: model.objects.all(maker="a"), "write objects(maker=...).all()"),
    ],
)
def test_other_methods_take_no_filters(
    session: FakeSession, call: Callable[[], Any], advice: str
) -> None:
    """The error for filters as arguments of other methods says to filter first."""
    assert refused(call).endswith(advice)
    assert session.executions == []


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda: model(**KEY).save(commit=False), "such as 'commit': each write is applied at"),
        (lambda: model(**KEY).asave(force_insert=True), "instance.if_not_exists().save()"),
        (lambda: model(**KEY).save(update_fields=["price"]), "the columns that have changed"),
        (lambda: model(**KEY).save(["price"]), "save() takes no options: the columns that have"),
        (lambda: model(**KEY).save(ttl=5), "write instance.ttl(seconds).save()"),
    ],
)
def test_saving_takes_no_options(
    session: FakeSession, call: Callable[[], Any], advice: str
) -> None:
    """The error for an option of `save`, such as Django's `commit`, says what to do instead."""
    assert advice in refused(call)
    assert session.executions == []


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda: model.objects.order_by(["-year"]), "not a list: write order_by('-year')"),
        (lambda: model.objects.order_by(model.year), "or order_by('-year') for descending"),
        (lambda: model.objects.order_by(5), "not 5 (int): write order_by('column')"),
        (lambda: model.objects.values_list(["year", "line"]), "values_list('year', 'line')"),
        (lambda: model.objects.values_list(model.year), "write values_list('column')"),
        (lambda: model.objects.filter([model.year == 1]), "filter(*conditions)"),
    ],
)
def test_names_and_conditions_are_arguments_of_their_own(
    call: Callable[[], Any], advice: str
) -> None:
    """The error for a list of names or conditions says to pass separate arguments."""
    with pytest.raises(QueryException) as caught:
        call()
    assert str(caught.value).endswith(advice)


@pytest.mark.parametrize("call", ["create_many", "acreate_many"])
def test_many_rows_are_not_one_mapping(call: str) -> None:
    """The error for one mapping in `create_many` says to pass a list."""
    assert "create_many([values])" in refused(lambda: getattr(model.objects, call)(KEY))


def test_columns_are_not_calculated_with() -> None:
    """Arithmetic with a column is refused, because servers do not calculate with columns."""
    for calculate in (
        lambda: model.price + 1,
        lambda: 1 - model.price,
        lambda: model.price * 2,
        lambda: model.price % 2,
    ):
        assert re.match(r"servers do not calculate with Car\.price: ", refused(calculate))
    assert refused(lambda: -model.year).endswith("write order_by('-year')")
    assert "Car.options.contains_(value)" in refused(lambda: "x" in model.options)
    assert "contains_(value)" in refused(lambda: model.options[0])
    assert refused(lambda: list(model.options)).endswith("object is not iterable")


def test_a_value_in_the_place_of_a_column_is_warned_of() -> None:
    """Assigning a value to a column of the class causes a warning."""

    class Own(Model):
        id = columns.Integer(primary_key=True)
        name = columns.Text()

    own: Any = Own
    column = vars(Own)["name"]
    with pytest.warns(RuntimeWarning, match=r"Own\.name is set on the class.*write instance\.na"):
        own.name = "x"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        own.name = column
        own.name = property(lambda self: "x")
        own.other = 5


def test_a_column_may_be_patched_by_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test may replace a column of the class with a mock without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with patch.object(Car, "price", MagicMock()):
            pass
        with monkeypatch.context() as context:
            context.setattr(Car, "price", 5)


def test_awaitable_methods_still_count_as_coroutine_functions() -> None:
    """Awaitable methods are coroutine functions, and blocking methods are not."""
    for method in (Car.acreate, Car.aupdate, Car.objects.adelete, Car.objects.acreate):
        assert inspect.iscoroutinefunction(method) or asyncio.iscoroutinefunction(method)
    for blocking in (Car.create, Car.update, Car.objects.delete, Car.objects.create):
        assert not inspect.iscoroutinefunction(blocking)


class Letter(Model):
    """A model whose columns have the names of the mapper's own parameters."""

    id = columns.Integer(primary_key=True)
    receiver = columns.Text()
    queryset = columns.Text()
    instance = columns.Text()


@pytest.mark.parametrize("name", ["receiver", "queryset", "instance"])
def test_a_column_may_have_the_name_of_a_parameter(session: FakeSession, name: str) -> None:
    """A column may have the name of a parameter of the mapper's methods."""
    letter: Any = Letter
    value = {name: "a"}
    letter.create(id=1, **value)
    letter.objects.create(id=1, **value)
    letter(id=1).update(**value)
    letter.objects(id=1).update(**value)
    assert len(session.executions) == 4


def test_an_empty_tuple_of_names_is_an_argument() -> None:
    """`only` and `defer` accept an empty tuple or list of names."""
    no_names: tuple[Any, ...] = ((), [])
    for names in no_names:
        assert model.objects.only(names)._only_fields == ()
        assert model.objects.defer(names)._defer_fields == ()


def test_tests_of_all_objects_of_the_process_are_possible() -> None:
    """Code that inspects all objects of the process may inspect the default of ``self``.

    This default is a placeholder, by which `save` notices a call on the class.
    """
    defaults = model.save.__defaults__
    for placeholder in (*defaults, type(defaults[0])):
        assert not isinstance(placeholder, dict)
        assert not hasattr(placeholder, "any_name")
    with pytest.raises(TypeError, match="is a method of instances") as caught:
        model.save()
    assert traceback.format_exception_only(caught.value)[0].startswith("TypeError: save()")
