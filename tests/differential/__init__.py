"""The same programs run on cassandra-driver, scylla-driver and this driver, against one real node.

``tox -e differential`` runs them and fails for each difference that is not in `defended`.
"""
