"""The hosts whose schema versions are compared."""

from __future__ import annotations

import enum

__all__ = ["SchemaAgreementScope"]


class SchemaAgreementScope(str, enum.Enum):
    """The hosts that `Session.wait_for_schema_agreement` asks.

    These are the connected hosts of the local rack, of the local data centre, or of the cluster.
    The load balancing policies decide which are local; without racks, the local rack is the local
    data centre.
    """

    RACK = "rack"
    DC = "dc"
    CLUSTER = "cluster"


SchemaAgreementScope.__module__ = "cassandra.cluster"
