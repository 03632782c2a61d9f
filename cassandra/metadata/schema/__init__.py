"""The schema: rows of the schema tables, the metadata objects built from them, and their CQL."""
