"""Lives of whole clusters in virtual time, each decided by its seed.

``python -m tests.simulation --seeds 200`` lives 200 of them; see `tests.simulation.__main__`.

* `store`: nodes with a small store behind them, which remembers what arrived and where it ran.
* `plan`: a life as data: settings, steps of clients, and faults, each one line.
* `clients`: does the steps, with the driver.
* `faults`: does the faults.
* `life`: puts a plan into a world, lives it, and hands over what was seen.
* `judge`: says what must never be so.
* `shrink`: leaves lines out of a plan that fails, as long as it fails.
* `known`: plans that once failed.
* `mutants`: mistakes that are put into the driver, to see that lives find them.

Of two packages on PyPI that simulate asyncio, neither serves here: simloom (0.5) runs on Python
3.12 and newer alone, has no ``start_tls`` and no local ports, and runs ready callbacks in any
order, which asyncio never does, so that correct code would fail; seedloop (0.4) has no streams, but
messages between programs that are written for it.
"""
