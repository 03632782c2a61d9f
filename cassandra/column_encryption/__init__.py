"""Columns that are encrypted in the program; see `cassandra.column_encryption.policies`."""

from cassandra._foreign import check_files

check_files()
