"""How a cluster is: `cassandra.diagnostics.report` and the checks of ``python -m cassandra.doctor``."""
