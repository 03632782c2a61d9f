"""Preparing statements: ahead of their execution, at their first one, and again on hosts that
forgot them.
"""
