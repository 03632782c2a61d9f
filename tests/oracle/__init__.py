"""Runs other projects' drivers against the fake ScyllaDB cluster, to check the fake cluster.

``python tests/oracle`` (``tox -e oracle``) installs each driver in its own environment.
"""
