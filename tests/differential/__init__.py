"""Runs the same programs with cassandra-driver, scylla-driver and this driver on one real node.

``tox -e differential`` runs them, and fails if there is a difference that `defended` does not list.
"""
