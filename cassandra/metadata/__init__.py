"""What the driver knows of a cluster."""

import os

from cassandra._foreign import refuse_foreign_files

refuse_foreign_files(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from cassandra.metadata.cluster_metadata import Metadata  # noqa: E402

__all__ = ["Metadata"]
