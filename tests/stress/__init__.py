"""Programs that repeat one thing thousands of times under load, and count the calls that hang.

For example ``python -m tests.stress.forks --help``.
"""
