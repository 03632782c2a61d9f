"""Creates a Hugging Face data set from a table, in memory or through files.

    pip install turbocql[arrow] datasets
    python examples/hugging_face.py HOST KEYSPACE.TABLE FOLDER [PORT]

A scan returns an Arrow table, which `datasets.Dataset` accepts, except for UUIDs: `datasets` has no
type for them. If a table does not fit into memory, unload it to files: `datasets` maps the files
into memory.
"""

from __future__ import annotations

import sys

import pyarrow
from datasets import Dataset, load_dataset

from cassandra.cluster import Cluster


def is_uuid(field: pyarrow.Field) -> bool:
    """Return True for a column of UUIDs."""
    return isinstance(field.type, pyarrow.BaseExtensionType)


def with_texts(table: pyarrow.Table) -> pyarrow.Table:
    """Return a table with strings in place of UUIDs."""
    for index, field in enumerate(table.schema):
        if is_uuid(field):
            values = table.column(index).to_pylist()
            texts = [None if value is None else str(value) for value in values]
            table = table.set_column(index, field.name, pyarrow.array(texts, pyarrow.string()))
    return table


def main(host: str, table: str, folder: str, port: int = 9042) -> None:
    """Create a data set from a table in memory, and a data set from files in a new folder."""
    with Cluster([host], port=port) as cluster:
        session = cluster.connect()
        rows = session.scan(table).to_arrow()
        dataset = Dataset(with_texts(rows))
        print(len(dataset), "rows in memory:", ", ".join(dataset.column_names))
        # Leave out columns of UUIDs. To keep them, write JSON lines (format="jsonl"), in which
        # UUIDs are strings.
        columns = [field.name for field in rows.schema if not is_uuid(field)]
        session.unload(table, folder, columns=columns)
    files = load_dataset("parquet", data_files=f"{folder}/*.parquet", split="train")
    print(len(files), "rows in files:", ", ".join(files.column_names))


if __name__ == "__main__":
    host, table, folder, *port = sys.argv[1:]
    main(host, table, folder, *map(int, port))
