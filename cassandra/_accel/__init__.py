"""Compiled versions (Cython) of modules that each request uses.

A compiled module has the same API and behaviour as its pure Python version. `cassandra._impl`
chooses which version the driver uses.
"""
