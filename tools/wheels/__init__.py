"""The modules of `tools/build_wheels`."""
