"""Programs that repeat one thing thousands of times under load, and count calls that hang: ``python
-m tests.stress.forks --help``.
"""
