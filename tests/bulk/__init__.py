"""Whole tables go through files and back on a real node, and must be unchanged afterwards.

``pytest tests/bulk`` takes some minutes; with ``TURBOCQL_BULK_SEEDS=2`` about one. A failure names
its seed: ``TURBOCQL_BULK_FIRST_SEED=17 TURBOCQL_BULK_SEEDS=1`` repeats that seed alone.
"""
