"""Simulated runs of whole clusters in virtual time.

A simulation is a run of applications, the driver and fake nodes in one process. Its seed decides
everything that happens in it, so you can run a failing simulation again. ``python -m
tests.simulation --seeds 200`` runs 200 simulations; see `tests.simulation.__main__`.

* `store`: fake nodes with a small store, which records each request and its keyspace.
* `plan`: describes a simulation as data: its settings, the steps of clients, and the faults.
* `clients`: runs the steps of the clients with the driver.
* `mapped`, `mapped_table`: the steps with the object mapper, and the table of these steps.
* `faults`: causes the faults.
* `life`: creates the cluster of a plan, runs the plan, and returns the outcome.
* `judge`: checks the rules that must hold in every simulation.
* `shrink`: removes events from a failing plan, as long as the plan still fails.
* `known`: plans that failed in the past.
* `mutants`: bugs that can be put into the driver, to check that simulations find them.

Two packages on PyPI simulate asyncio, but do not fit. simloom (0.5) needs Python 3.12, and has no
``start_tls`` and no local ports. It also runs ready callbacks in any order, which asyncio never
does, so correct code would fail. seedloop (0.4) has no streams, only messages between programs that
were written for seedloop.
"""
