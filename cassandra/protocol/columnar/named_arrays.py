"""The dict that `to_numpy` returns: an array for each column of a result."""

from __future__ import annotations

from typing import Any, NoReturn

from cassandra._misspelt import nearest
from cassandra.cqltypes.failures import add_note


class NamedArrays(dict[str, Any]):
    """NumPy arrays by the names of their columns.

    Users who expect one array for all columns write ``arrays[:, 0]`` or ``arrays.shape``, and get
    an error that says what to write.
    """

    def __getitem__(self, key: Any) -> Any:
        # No column has such a key. Before Python 3.12, slices have no hash value, so `__missing__`
        # would not be called.
        if isinstance(key, (slice, tuple)):
            raise TypeError(f"this is a dict of arrays, by column: write {self._example}")
        return super().__getitem__(key)

    def __missing__(self, key: object) -> NoReturn:
        error = KeyError(key)
        similar_name = nearest(key, self) if isinstance(key, str) else None
        question = f"; did you mean {similar_name!r}?" if similar_name else ""
        add_note(error, f"(the columns are {', '.join(map(repr, self))}{question})")
        raise error

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            advice = ""
        elif name in self:
            advice = f": write arrays[{name!r}]"
        else:
            advice = f": this is a dict of arrays, by column: write {self._example}.{name}"
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{advice}")

    @property
    def _example(self) -> str:
        return f"arrays[{next(iter(self), 'column')!r}]"
