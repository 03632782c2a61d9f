"""Pages of rows as columns: Arrow, NumPy, pandas and polars, without a Python object for each
value.
"""
