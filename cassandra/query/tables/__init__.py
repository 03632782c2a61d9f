"""Tables as rows to bind: NumPy arrays, pandas, polars and Arrow tables."""
