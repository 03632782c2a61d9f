"""Decides when to read which part of the schema.

This package also handles schema events, and waits for schema agreement.
"""
