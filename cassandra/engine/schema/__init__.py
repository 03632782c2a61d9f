"""Reading the schema: when and what to read, how events are handled, and waiting for schema
agreement.
"""
