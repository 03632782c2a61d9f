"""A campaign of faults on real nodes, with an accountant of what was acknowledged."""
