"""The control connection: how it is opened and moved to another host, and what uses it.

It is used for the driver's own queries, for the routes to nodes, and for requests of the
application for which no pool has a connection.
"""
