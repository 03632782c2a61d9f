"""Client-side column encryption; see `cassandra.column_encryption.policies`."""

from cassandra._foreign import check_files

check_files()
