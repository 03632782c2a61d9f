"""Cython twins of the hot modules; `cassandra._impl` chooses between them and the Python ones."""
