"""Runs the same programs with cassandra-driver, scylla-driver and turbocql on one real node.

``tox -e differential`` runs the programs, and fails if there is a difference between the drivers
that `defended` does not list.
"""
