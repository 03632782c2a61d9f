"""Decodes pages of rows into columns for Arrow, NumPy, pandas and polars.

Values are copied from a page's bytes into arrays, without a Python object for each value.
"""
