"""Names of other drivers, which are here only so that programs of today import and patch them.

Nothing of the driver imports this room: its names are looked up when a program asks for one.
"""
