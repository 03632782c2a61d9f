"""Elements of graphs: plain holders of what a program gives them."""

from cassandra._compat.graph import hand_over

__getattr__ = hand_over(__name__)
