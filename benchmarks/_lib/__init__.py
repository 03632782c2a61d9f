"""Modules that the benchmarks share, and programs (`worker_*`) that they run in processes of their
own.
"""
