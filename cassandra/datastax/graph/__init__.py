"""Names of DataStax Enterprise's graphs: you can create objects, but not use them.

Using them raises NotImplementedError, because this driver does not support graphs.
"""

from cassandra._compat.graph import hand_over

__getattr__ = hand_over(__name__)
