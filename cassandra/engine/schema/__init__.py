"""Reading the schema: what is read and when, what events make of it, and waiting until the nodes
agree.
"""
