"""Programs that repeat one operation thousands of times under load, and count hanging calls.

Example: ``python -m tests.stress.forks --help``.
"""
