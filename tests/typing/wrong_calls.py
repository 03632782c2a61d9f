"""Mistakes that type checkers must report, each on a line that ends with ``# error``.

Each marked line has one mistake, which the annotations of the driver show: an argument of a wrong
type or with a wrong name, a missing ``await``, or an attribute that the declared class does not
have. test_type_checkers.py compares the lines of the reported errors with the marked lines. Nothing
runs this file.
"""

from __future__ import annotations

from dataclasses import dataclass

from cassandra import aio
from cassandra.cluster import Cluster, ExecutionProfile, Session
from cassandra.concurrent import (
    execute_concurrent,
    execute_concurrent_async,
    execute_concurrent_with_args,
)
from cassandra.cqlengine import columns
from cassandra.cqlengine.columns import Mapped
from cassandra.cqlengine.models import Model
from cassandra.policies import RetryPolicy, RoundRobinPolicy


@dataclass
class Order:
    """The class of the rows (`row_type`)."""

    id: int


def settings() -> None:
    Cluster(contact_pionts=["10.0.0.1"])  # error
    Cluster([10])  # error
    Cluster(port=[])  # error
    Cluster(load_balancing_policy=RetryPolicy())  # error
    Cluster(load_balancing_policy=RoundRobinPolicy)  # error
    Cluster(default_retry_policy=RoundRobinPolicy())  # error
    Cluster(auth_provider=("ada", "secret"))  # error
    Cluster(ssl_context=True)  # error
    Cluster(connect_timeout="5")  # error
    Cluster(execution_profiles={"slow": RetryPolicy()})  # error
    Cluster(schema_metadata_keyspaces=5)  # error
    Cluster(application_info="shop")  # error
    Cluster().add_execution_profile("slow", RetryPolicy())  # error


def settings_of_asyncio() -> None:
    aio.Cluster(contact_pionts=["10.0.0.1"])  # error
    aio.Cluster([10])  # error
    aio.Cluster(port=[])  # error
    aio.Cluster(reconnection_policy=RetryPolicy())  # error
    aio.Cluster(schema_read_timeout="5")  # error
    aio.Cluster(metrics_enabled="yes")  # error


def calls(session: Session) -> None:
    session.execute(5)  # error
    session.execute(b"SELECT 1")  # error
    session.execute("SELECT 1", timeout="5")  # error
    session.execute("SELECT 1", host="10.0.0.1")  # error
    session.execute("SELECT 1", execution_profile=5)  # error
    session.execute("SELECT 1", row_type=Order(1))  # error
    session.execute_async("SELECT 1", row_type=Order(1))  # error
    session.execute("SELECT 1", paging_state="page")  # error
    session.execute("SELECT 1", time_out=5)  # error
    session.execute_async("SELECT 1", timeout="5")  # error
    session.prepare(5)  # error
    session.default_timeout = "5"  # error
    order = session.execute("SELECT id FROM orders", row_type=Order).all()[0]
    print(order.total)  # error
    print(session.execute("SELECT id FROM orders", row_type=Order).one().id)  # error
    print(session.execute("SELECT id FROM orders", row_type=Order)[0].total)  # error
    ExecutionProfile(retry_policy=RoundRobinPolicy())  # error
    ExecutionProfile(request_timeout="5")  # error


def many(session: Session) -> None:
    pairs = [("SELECT 1", None)]
    execute_concurrent(session, pairs, concurrencies=5)  # error
    execute_concurrent(session, pairs, concurrency="5")  # error
    execute_concurrent(session, pairs, execution_profile=5)  # error
    execute_concurrent(session, pairs, row_type=Order(1))  # error
    execute_concurrent(session, ["SELECT 1"])  # error
    execute_concurrent(session, pairs, results_generator=True)[0]  # error
    len(execute_concurrent(session, pairs, 5, True, True))  # error
    next(execute_concurrent(session, pairs))  # error
    execute_concurrent_with_args(session, "SELECT 1", [(1,)], concurrencies=5)  # error
    execute_concurrent_with_args(session, "SELECT 1", [(1,)], raise_on_error=False)  # error
    execute_concurrent_with_args(session, "SELECT 1", [(1,)], result_generator=True)  # error
    execute_concurrent_with_args(session, 5, [(1,)])  # error
    execute_concurrent_with_args(session, "SELECT 1", [(1,)], 5, True, True)[0]  # error
    execute_concurrent_async(session, pairs, results_generator=True)  # error
    execute_concurrent_async(session, pairs, execution_profile=5)  # error
    len(execute_concurrent_async(session, pairs))  # error
    session.execute_concurrent(pairs, concurrencies=5)  # error
    session.execute_concurrent(pairs, results_generator=True)[0]  # error
    session.execute_concurrent_with_args("SELECT 1", [(1,)], concurrencies=5)  # error
    session.execute_concurrent_async(pairs, concurrencies=5)  # error


def traces(session: Session) -> None:
    print(session.execute("SELECT 1", trace=True).get_query_trace().events)  # error
    print(session.execute_async("SELECT 1").coordinator_host.address)  # error


async def many_of_asyncio(session: aio.Session) -> None:
    pairs = [("SELECT 1", None)]
    session.execute_concurrent(pairs, concurrencies=5)  # error
    session.execute_concurrent(pairs, 5, True, None, "slow")  # error
    session.execute_concurrent(pairs, in_order="no")  # error
    session.execute_concurrent(pairs)[0]  # error
    async for outcome in session.execute_concurrent(pairs):
        print(outcome.position)  # error
    async for placed in session.execute_concurrent(pairs, in_order=False):
        print(placed.place)  # error


async def calls_of_asyncio(session: aio.Session) -> None:
    # A query is a string or a statement, not a number.
    await session.execute(5)  # error
    await session.execute("SELECT 1", timeout="5")  # error
    await session.execute("SELECT 1", host="10.0.0.1")  # error
    await session.execute("SELECT 1", row_type=Order(1))  # error
    await session.prepare(5)  # error
    # The result of `cassandra.aio` must be read with `async for`.
    for row in await session.execute("SELECT id FROM orders", row_type=Order):  # error
        print(row)
    # The class `Order` has no attribute `total`.
    async for order in await session.execute("SELECT id FROM orders", row_type=Order):
        print(order.total)  # error
    print((await session.execute("SELECT id FROM orders", row_type=Order)).one().id)  # error


class Mistaken(Model):
    id: Mapped[int] = columns.Integer(primary_key=True)
    name: Mapped[str]
    size: Mapped[str] = columns.Integer()  # error


def mapped(instance: Mistaken) -> None:
    instance.name = 5  # error
    instance.id = None  # error
    instance.id.upper()  # error
    Mistaken.name.upper()  # error
    Mistaken.objects.create_many(5)  # error
    Mistaken.objects.order_by(5)  # error
    for row in Mistaken.objects:
        row.nothing()  # error
