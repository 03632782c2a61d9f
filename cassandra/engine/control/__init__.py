"""The control connection: how it is opened and moved, the queries sent over it, the routes to
nodes, and application requests that have no pool to run on.
"""
