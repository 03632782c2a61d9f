"""Columns that are encrypted in the program; see `cassandra.column_encryption.policies`."""
