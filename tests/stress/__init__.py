"""Programs that do one thing thousands of times under load, and count what hung: ``python -m
tests.stress.forks --help``.
"""
