"""Decides when to read which part of the schema.

Also handles schema events, and waits for schema agreement.
"""
