"""The schema: rows of the schema tables, the objects made of them, and their export as CQL."""
