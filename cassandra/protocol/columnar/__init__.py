"""Pages of rows as columns: Arrow, NumPy, pandas and polars, without an object for each value."""
