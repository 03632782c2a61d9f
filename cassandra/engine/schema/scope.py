"""The hosts that agreement on the schema is asked of."""

from __future__ import annotations

import enum

__all__ = ["SchemaAgreementScope"]


class SchemaAgreementScope(str, enum.Enum):
    """The hosts that `Session.wait_for_schema_agreement` asks.

    They are the connected ones of the local rack, of the local data centre, or all. The load
    balancing policies say which are local; if they know no racks, the local rack is the local data
    centre.
    """

    RACK = "rack"
    DC = "dc"
    CLUSTER = "cluster"


SchemaAgreementScope.__module__ = "cassandra.cluster"
