"""Tests of ``python -m cassandra.migrate``, which checks an application's code for differences."""
