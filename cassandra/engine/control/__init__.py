"""Opens the control connection, moves it to another host, and sends requests on it.

The control connection is used for the driver's own queries, for the routes to nodes, and for
requests of the application for which no pool has a connection.
"""
