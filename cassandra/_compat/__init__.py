"""Names of cassandra-driver and scylla-driver, so that existing code can import and patch them.

The driver itself imports nothing from this package. When an application uses one of these names,
the module in which it looks for the name imports it from here.
"""
