"""The settings of a cluster. They are described in one table, from which everything else about them
is derived.
"""
