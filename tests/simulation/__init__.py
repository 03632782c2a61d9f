"""Simulated runs ("lives") of whole clusters in virtual time, each decided by its seed.

``python -m tests.simulation --seeds 200`` runs 200 lives; see `tests.simulation.__main__`.

* `store`: nodes with a small store, which records each arrival and its keyspace. * `plan`: a life
as data: settings, steps of clients, and faults, each one line. * `clients`: runs the steps, with
the driver. * `mapped`, `mapped_table`: steps with the object mapper, and the table behind them. *
`faults`: causes the faults. * `life`: creates the cluster of a plan, runs the plan, and returns its
outcome. * `judge`: checks the rules that must always hold. * `shrink`: removes lines from a failing
plan, as long as it still fails. * `known`: plans that once failed. * `mutants`: bugs that are put
into the driver, to see that lives find them.

Two packages on PyPI simulate asyncio, but do not fit here. simloom (0.5) needs Python 3.12, has no
``start_tls`` and no local ports, and runs ready callbacks in any order, which asyncio never does,
so correct code would fail. seedloop (0.4) has no streams, only messages between programs written
for it.
"""
