"""Tests of bulk loads against oracles that are not ours: slower than unit tests."""
