"""Tests of the bulk operations, which unload, load, copy and scan whole tables of a real node.

``pytest tests/bulk`` takes some minutes; with ``TURBOCQL_BULK_SEEDS=2`` it takes about one minute.
The name of a failed test contains its seed. To run only the seed 17, set
``TURBOCQL_BULK_FIRST_SEED=17 TURBOCQL_BULK_SEEDS=1``.
"""
