"""The columns of models and user-defined types."""

from cassandra._foreign import check_files

check_files()

from cassandra._habits import COLUMN_TYPES
from cassandra._public_names import set_public_module
from cassandra._wrong_imports import refuse_names
from cassandra.cqlengine.columns import scalars, temporal
from cassandra.cqlengine.columns.base import BaseValueManager, Column
from cassandra.cqlengine.columns.containers import (
    BaseCollectionColumn,
    BaseContainerColumn,
    List,
    Map,
    Set,
    Tuple,
    UDTValueManager,
    UserDefinedType,
    Vector,
    resolve_udts,
)
from cassandra.cqlengine.columns.mapped import Mapped
from cassandra.cqlengine.columns.scalars import *  # noqa: F403
from cassandra.cqlengine.columns.temporal import *  # noqa: F403
from cassandra.cqlengine.errors import ValidationError
from cassandra.cqlengine.functions import get_total_seconds
from cassandra.cqltypes.scalars import SimpleDateType as SimpleDateType
from cassandra.cqltypes.udt import UserType as UserType

__all__ = [
    "BaseCollectionColumn", "BaseContainerColumn", "BaseValueManager", "Column", "List", "Map",
    "Mapped", "Set", "Tuple", "UDTValueManager", "UserDefinedType", "ValidationError", "Vector",
    "get_total_seconds", "resolve_udts",
]  # fmt: skip
__all__ += scalars.__all__
__all__ += temporal.__all__

set_public_module(__name__, __all__, __name__)

# Set `__getattr__` through globals(): if type checkers saw the function, they would accept any name
# of the module.
globals()["__getattr__"] = refuse_names(__name__, COLUMN_TYPES)
