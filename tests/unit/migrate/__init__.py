"""Tests of ``python -m cassandra.migrate``."""
