"""Binds the rows of tables: NumPy arrays, and tables of pandas, polars and Arrow."""
