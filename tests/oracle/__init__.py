"""Runs drivers of other projects against the fake ScyllaDB cluster, to check that cluster.

Start it with ``python tests/oracle`` or ``tox -e oracle``. Each driver gets its own environment.
"""
