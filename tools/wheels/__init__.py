"""The parts of `tools/build_wheels`."""
