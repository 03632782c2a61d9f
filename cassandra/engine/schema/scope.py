"""`SchemaAgreementScope`: the hosts whose schema versions are compared."""

from __future__ import annotations

import enum


class SchemaAgreementScope(str, enum.Enum):
    """The hosts that `Session.wait_for_schema_agreement` asks.

    These are the connected hosts of the local rack, of the local data centre, or of the whole
    cluster. The load balancing policies decide which hosts are local. If the policies do not use
    racks, RACK means the same as DC.
    """

    RACK = "rack"
    DC = "dc"
    CLUSTER = "cluster"


SchemaAgreementScope.__module__ = "cassandra.cluster"
