"""Tests of `cassandra.testing.replay`."""
