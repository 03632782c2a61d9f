"""Row factories, under the import path that cassandra-driver uses."""

from cassandra.query.row_factories import (
    dict_factory,
    named_tuple_factory,
    ordered_dict_factory,
    tuple_factory,
)

__all__ = ["dict_factory", "named_tuple_factory", "ordered_dict_factory", "tuple_factory"]
