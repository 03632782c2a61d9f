"""Opens the control connection, moves it to another host, and sends requests on it.

The control connection is used for the driver's own queries, for reading the routes to nodes behind
proxies, and for requests of the application for which no pool has a connection.
"""
