"""Test the dict of `to_numpy`, and the advice in its errors."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from cassandra.protocol.columnar.named_arrays import NamedArrays

ARRAYS: Any = NamedArrays(id=[1, 2], embedding=[[0.5], [1.5]])


def test_it_is_a_dict_of_its_arrays() -> None:
    """The result of `to_numpy` can be read, compared, copied and pickled like any other dict."""
    assert ARRAYS == {"id": [1, 2], "embedding": [[0.5], [1.5]]}
    assert ARRAYS["id"] == [1, 2]
    assert ARRAYS.get("none") is None
    assert repr(ARRAYS) == repr(dict(ARRAYS))
    for clone in (copy.copy(ARRAYS), copy.deepcopy(ARRAYS), pickle.loads(pickle.dumps(ARRAYS))):
        assert type(clone) is NamedArrays
        assert clone == ARRAYS
    assert not hasattr(ARRAYS, "__array__")


@pytest.mark.parametrize("key", [slice(None), (slice(None), 0), (0, 1)])
def test_a_position_is_refused_with_advice(key: Any) -> None:
    """An index or slice raises a TypeError that says to use the name of a column.

    Users who expect one array for all columns write ``arrays[:, 0]``.
    """
    with pytest.raises(TypeError, match=r"dict of arrays, by column: write arrays\['id'\]$"):
        ARRAYS[key]


@pytest.mark.parametrize(
    ("key", "note"),
    [
        ("embedding_", "(the columns are 'id', 'embedding'; did you mean 'embedding'?)"),
        (0, "(the columns are 'id', 'embedding')"),
    ],
)
def test_an_unknown_column_is_a_key_error_that_lists_the_columns(key: Any, note: str) -> None:
    with pytest.raises(KeyError) as caught:
        ARRAYS[key]
    assert caught.value.args == (key,)
    assert vars(caught.value)["__notes__"] == [note]


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("shape", r": this is a dict of arrays, by column: write arrays\['id'\]\.shape$"),
        ("embedding", r": write arrays\['embedding'\]$"),
        ("__array_struct__", "$"),
    ],
)
def test_attributes_of_arrays_get_advice(name: str, advice: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{name}'{advice}"):
        getattr(ARRAYS, name)
