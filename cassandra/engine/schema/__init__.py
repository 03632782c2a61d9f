"""Reads the schema: decides when to read which part, handles schema events, and waits for schema
agreement.
"""
