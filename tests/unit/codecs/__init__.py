"""Tests of `cassandra.codecs`."""
