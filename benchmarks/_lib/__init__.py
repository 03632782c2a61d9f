"""Modules that the benchmarks share, and scripts (`worker_*`) that they run in new processes."""
