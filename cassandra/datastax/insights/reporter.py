"""`MonitorReporter`, which you can create, but not start."""

from cassandra._compat.graph import hand_over

__getattr__ = hand_over(__name__)
