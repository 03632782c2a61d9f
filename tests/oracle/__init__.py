"""Runs other projects' drivers against the fake ScyllaDB cluster, to check the fake cluster.

``python tests/oracle`` (or ``tox -e oracle``) does it; each driver gets an environment of its own.
"""
