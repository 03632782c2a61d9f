"""How this driver differs from other drivers: the object mapper, ``cassandra.cqlengine``."""

from __future__ import annotations

from cassandra.migrate.entries import Difference
from cassandra.migrate.matchers import DIFFERS, NOTE, AttributeOfClass, RemovedFromList

MAPPER = [
    Difference(
        key="mapper-validation",
        what=(
            "The mapper refuses values of wrong types, out of range, or that it would take apart "
            "(texts and bytes for collections) with ``ValidationError`` before the server is "
            "asked."
        ),
        why=(
            "In cassandra-driver, the error may have any class, or the letters of the text are "
            "stored."
        ),
    ),
    Difference(
        key="clustering-filter",
        what=(
            "A filter by a clustering column alone fails with the server's ``InvalidRequest``, "
            "not ``QueryException``."
        ),
        why="The server knows better what its indexes allow.",
    ),
    Difference(
        key="deferred-columns",
        what=(
            "Columns that a query has left out (``only``, ``defer``) are None on its instances, "
            "not their defaults; one that is set to its default is written."
        ),
        why="The row may have another value, and would keep it.",
    ),
    Difference(
        key="changed-columns",
        what=(
            "``get_changed_columns`` has the columns that were set to null or deleted; ``del`` of "
            "an attribute with a default deletes the value."
        ),
        why="They are written.",
    ),
    Difference(
        key="changed-user-types",
        what=(
            "If a field of a user-defined type is set inside an instance (``user.address.street = "
            '"x"``), the column has changed, and ``save`` writes it.'
        ),
        why="In cassandra-driver, ``save`` writes nothing, and the new value is lost.",
    ),
    Difference(
        key="empty-set",
        what="Elements that are added to an empty set of an instance are added to the row's.",
        why="Others may have written some since the row was read: they stay.",
    ),
    Difference(
        key="nulls-once",
        what=(
            "Nulls that an instance was created with are written once, not with each later change."
        ),
        why="They would delete what others have written since.",
    ),
    Difference(
        key="batch-left",
        what=(
            "After a batch was executed, or its block left, its instances write by themselves "
            "again."
        ),
        why="In cassandra-driver, their writes go to the finished batch, and are lost.",
    ),
    Difference(
        key="update-null",
        what=(
            "``update`` of a queryset writes null to a column that has another name in the table, "
            "and a failed condition is ``LWTException`` then too."
        ),
        why=(
            "In cassandra-driver, the statement has a name that the server does not know, or "
            "deletes columns of a range."
        ),
    ),
    Difference(
        key="list-remove",
        what="``update(column__remove=...)`` of a list removes the elements.",
        why="In cassandra-driver, it assigns these elements to the list.",
        do="Look whether the list is meant to become what is given.",
        matchers=(RemovedFromList(DIFFERS),),
    ),
    Difference(
        key="count",
        what="``count`` of a queryset asks the server, also after its rows were read.",
        why="The rows may be cut by a limit, and others may have come.",
    ),
    Difference(
        key="mapper-decimals",
        what="Decimals of the mapper keep their digits, and mappings are user-defined types.",
        why="In cassandra-driver, decimals are converted to floats and back.",
    ),
    Difference(
        key="shared-tables",
        what=(
            "A subclass of a model that adds no column and no table name shares its parent's "
            "table, always."
        ),
        why="In cassandra-driver, it depends on which class is used first.",
    ),
    Difference(
        key="default-ttl",
        what="``__default_ttl__`` of a model has no effect, as there, but `sync_table` warns.",
        why="Its documentation promises one.",
        do="Put ``default_time_to_live`` into ``__options__`` if the rows are to expire.",
        matchers=(AttributeOfClass(NOTE, "cassandra.cqlengine.models.Model", "__default_ttl__"),),
    ),
]
