"""Campaigns: runs that cause faults on real nodes, and check acknowledged writes at their end.

`python -m tests.chaos` runs a campaign.
"""
