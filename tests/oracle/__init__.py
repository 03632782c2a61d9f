"""Runs other projects' drivers against the fake ScyllaDB cluster, to check the fake cluster.

Start it with ``python tests/oracle`` or ``tox -e oracle``. Each driver gets its own environment.
"""
