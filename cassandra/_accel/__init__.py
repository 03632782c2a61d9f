"""The compiled twins (Cython) of modules that requests use often.

A twin has the same API and behaviour as its Python module. `cassandra._impl` chooses which of the
two the driver uses.
"""
