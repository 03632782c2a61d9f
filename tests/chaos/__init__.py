"""A campaign is a run that causes faults on real nodes, and checks acknowledged writes at its end.

`python -m tests.chaos` runs one.
"""
