"""Elements of graphs: objects that only store the parameters with which they are created."""

from cassandra._compat.graph import hand_over

__getattr__ = hand_over(__name__)
