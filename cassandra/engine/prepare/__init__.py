"""Preparing statements: before their execution, at their first execution, and again on hosts that
have forgotten them.
"""
