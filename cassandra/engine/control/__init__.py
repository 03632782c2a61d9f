"""The control connection: where it is opened and how it moves, what is asked over it, the routes to
nodes, and requests of programs that have no other way.
"""
