"""Awaitable methods warn if they skip a blocking method that a model overrides.

For example, `asave` does not call an overridden `save`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cqlengine import columns, connection
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import DMLQuery
from tests.unit.cqlengine.test_running import Api


class _Base(Model):
    __abstract__ = True
    __keyspace__ = "ks"
    __connection__ = "here"
    id = columns.Integer(primary_key=True)
    value = columns.Integer()


class Blocking(_Base):
    """Overrides only blocking methods."""

    def save(self) -> Any:
        return super().save()

    def update(self, **values: Any) -> Any:
        return super().update(**values)

    def delete(self) -> None:
        super().delete()

    @classmethod
    def get(cls, *args: Any, **kwargs: Any) -> Any:
        return super().get(*args, **kwargs)


class Creating(_Base):
    @classmethod
    def create(cls, **kwargs: Any) -> Any:
        return super().create(**kwargs)


class Paired(Blocking):
    """Overrides the awaitable methods of a base class with overridden blocking methods."""

    async def asave(self) -> Any:
        return await super(Blocking, self).asave()

    async def aupdate(self, **values: Any) -> Any:
        return await super().aupdate(**values)

    async def adelete(self) -> None:
        await super().adelete()

    @classmethod
    async def aget(cls, *args: Any, **kwargs: Any) -> Any:
        return await super().aget(*args, **kwargs)


class OwnWrites(DMLQuery):
    """A DMLQuery class of an application."""


class Written(_Base):
    __dmlquery__ = OwnWrites


@pytest.fixture(autouse=True)
def api() -> Iterator[Api]:
    """Yield an asyncio API with one row; at the end, forget its connection."""
    api = Api(is_async=True)
    api.session.return_row(id=1, value=2)
    yield api
    connection._connections.pop("here", None)


async def test_a_model_that_overrides_blocking_methods_alone() -> None:
    """Each awaitable method warns if the model overrides only the blocking method."""
    with pytest.warns(RuntimeWarning, match=r"^acreate\(\) does not call Blocking\.save\(\), wh"):
        row = await Blocking.acreate(id=1)
    with pytest.warns(RuntimeWarning, match=r"^asave\(\) does .* override asave\(\) as w") as seen:
        await row.asave()
    assert seen[0].filename == __file__
    with pytest.warns(RuntimeWarning, match=r"^aupdate\(\) does not call Blocking\.update\(\)"):
        await row.aupdate(value=3)
    with pytest.warns(RuntimeWarning, match=r"^adelete\(\) does not call Blocking\.delete\(\)"):
        await row.adelete()
    with pytest.warns(RuntimeWarning, match=r"^aget\(\) does not call Blocking\.get\(\)"):
        await Blocking.aget(id=1)
    with pytest.warns(RuntimeWarning, match=r"^acreate\(\) does not call Creating\.create\(\)"):
        await Creating.acreate(id=1)
    with pytest.warns(RuntimeWarning, match=r"^acreate_many\(\) does not call Blocking\.save\(\)"):
        await Blocking.objects.acreate_many([])


async def test_a_model_with_writes_of_its_own() -> None:
    """`acreate` and `aupdate` warn if the model has its own DMLQuery class."""
    with pytest.warns(RuntimeWarning, match=r"call Written\.__dmlquery__, .*\.to_thread\(instance"):
        row = await Written.acreate(id=1)
    with pytest.warns(RuntimeWarning, match=r"^aupdate\(\) does not call Written\.__dmlquery__"):
        await row.aupdate(value=3)


@pytest.mark.parametrize("model", [_Base, Paired])
async def test_other_models_cause_no_warning(model: Any) -> None:
    """Models that override nothing, or also the awaitable methods, cause no warning."""
    concrete: Any = model if model is Paired else type("Plain", (_Base,), {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        row = await concrete.acreate(id=1)
        await row.asave()
        await row.aupdate(value=3)
        await row.adelete()
        await concrete.aget(id=1)
