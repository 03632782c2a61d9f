"""The control connection: how it is opened and moved to another host, and what uses it. These are
the driver's own queries, the routes to nodes, and requests of the application for which no pool has
a connection.
"""
