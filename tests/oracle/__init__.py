"""Drivers that others wrote, run against the fake ScyllaDB cluster: they check it as we do.

``python tests/oracle`` (``tox -e oracle``) installs each in an environment of its own.
"""
