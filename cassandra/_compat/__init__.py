"""Names of cassandra-driver and scylla-driver, so that existing code can import and patch them.

The driver itself imports nothing from this package. A name is looked up when an application uses
it.
"""
