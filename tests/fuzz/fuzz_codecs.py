"""Decodes millions of randomly damaged values with the codec of every type.

    python -m tests.fuzz.fuzz_codecs [--count N] [--seed S] [--no-parity]

Decoding must not crash, read past the end or use too much memory, and must raise no error except
`DecodeError`. Both implementations decode the same bytes. They must return the same value, or raise
an error with the same message. Each decoded value is encoded again. If a check fails, the program
prints the type and the bytes. All mutations depend only on the seed. The same program can run with
a build of the extensions that has an address sanitizer.
"""

from __future__ import annotations

import random
import sys
from typing import Any

from cassandra import cqltypes as t
from cassandra._impl import twin
from cassandra.errors import DecodeError
from tests.fuzz.kept import Shapes, keep, lines, numbers
from tests.fuzz.running import run
from tests.unit.cqltypes.samples import (
    ADDRESS,
    CONTAINERS,
    SCALARS,
    list_of,
    map_of,
    tuple_of,
    vector_of,
)
from tests.unit.cqltypes.test_parity import TYPES, mutated

# These are nested types, each with a value for the corpus. None means no value.
NESTED_VALUES: list[tuple[Any, Any]] = [
    (list_of(map_of(t.UTF8Type, list_of(t.Int32Type))), [{"a": [1, 2], "b": []}, {}]),
    (map_of(tuple_of(t.Int32Type, t.DecimalType), ADDRESS), {(1, "1.5"): ("x", 1)}),
    (vector_of(vector_of(t.UTF8Type, 2), 2), [["a", "b"], ["c", ""]]),
    (vector_of(t.FloatType, 16), range(16)),
    (tuple_of(t.DurationType, t.InetAddressType, t.IntegerType, list_of(t.TimestampType)), None),
    (
        t.UserType.make_udt_class(
            "ks", "deep", ["a", "b"], [list_of(ADDRESS), map_of(t.UUIDType, t.BytesType)]
        ),
        ([("x", 1), ("y", 2)], {}),
    ),
]
NESTED = [cqltype for cqltype, _ in NESTED_VALUES]


def corpus() -> list[bytes]:
    """Return undamaged encoded values of all types, some of them long."""
    bodies = {bytes.fromhex(expected) for _, _, expected in [*SCALARS, *CONTAINERS]}
    codecs = twin("codecs", "python")
    for cqltype, value in NESTED_VALUES:
        if value is not None:
            bodies.add(cqltype.build_codec(codecs).encode(value))
    bodies.add(list_of(t.Int32Type).build_codec(codecs).encode(range(200)))
    return sorted(bodies)


def outcome(codec: Any, data: bytes) -> tuple[str, str, Any]:
    """Decode `data`, and return the outcome.

    The outcome is ("value", its repr, the value) or ("error", the message, None). Any error except
    `DecodeError` is a bug that the fuzzer has found, and is raised.
    """
    try:
        value = codec.decode(data)
    except DecodeError as error:
        return "error", str(error), None
    return "value", repr(value), value


def fuzz(
    count: int, seed: int, parity: bool, seconds: float | None = None, grow: bool = False
) -> dict[str, int]:
    """Decode `count` damaged inputs, or decode damaged inputs for `seconds`.

    :param parity: compare the compiled implementation with the Python one.
    :param grow: add inputs with a new outcome to the corpus.
    :returns: how many inputs were decoded ("value") or refused ("error"), and how many values were
        encoded again ("rewritten").
    """
    rng = random.Random(seed)
    types = [*TYPES, *NESTED]
    compiled_codecs = [cqltype.build_codec(twin("codecs", "c")) for cqltype in types]
    python_codecs = [cqltype.build_codec(twin("codecs", "python")) for cqltype in types]
    bodies = corpus()
    # Most inputs are created from a valid value of the type itself: in such an input, the decoder
    # reads many valid bytes before the damage, so more of its code runs.
    bodies_by_type = [
        [body for body in bodies if outcome(codec, body)[0] == "value"] or bodies
        for codec in compiled_codecs
    ]
    seen = {"value": 0, "error": 0, "rewritten": 0}
    shapes = Shapes("codecs", grow)
    for _ in numbers(count, seconds):
        index = rng.randrange(len(types))
        # Three of four inputs are created from a value of the type itself.
        candidates = bodies_by_type[index] if rng.randrange(4) else bodies
        data = mutated(rng.choice(candidates), rng)
        if rng.randrange(8) == 0:
            data = mutated(data, rng)
        try:
            kind, description, value = outcome(compiled_codecs[index], data)
            seen[kind] += 1
            shapes.see(description if kind == "error" else type(value).__name__, data)
            if parity:
                python_kind, python_description, _ = outcome(python_codecs[index], data)
                if (kind, description) != (python_kind, python_description):
                    raise AssertionError(
                        f"the implementations differ: {description} and {python_description}"
                    )
            if kind == "value" and value is not None:
                rewrite(compiled_codecs[index], value)
                seen["rewritten"] += 1
        except Exception:
            keep("codecs", data.hex())
            print(
                f"finding: {compiled_codecs[index].cql_name} of {data.hex()} (seed {seed})",
                file=sys.stderr,
            )
            raise
    return seen


def replay(parity: bool) -> int:
    """Decode each encoded value of the corpus as every type, and return the number of values.

    :param parity: compare the compiled implementation with the Python one.
    """
    inputs = lines("codecs")
    for cqltype in [*TYPES, *NESTED]:
        compiled_codec = cqltype.build_codec(twin("codecs", "c"))
        # Without parity, the compiled implementation is compared with itself.
        compared_codec = cqltype.build_codec(twin("codecs", "python" if parity else "c"))
        for (data,) in inputs:
            body = bytes.fromhex(data)
            kind, description, value = outcome(compiled_codec, body)
            assert (kind, description) == outcome(compared_codec, body)[:2], (
                f"{compiled_codec.cql_name} of {data}: {description}"
            )
            if kind == "value" and value is not None:
                rewrite(compiled_codec, value)
    return len(inputs)


def rewrite(codec: Any, value: Any) -> None:
    """Encode a decoded value again.

    The codec may refuse only durations of mixed signs, and vectors that contain None.
    """
    try:
        codec.encode(value)
    except (TypeError, ValueError) as error:
        # Servers allow an empty value of some types, for historical reasons. The codec decodes it
        # as None, which a vector cannot contain.
        refusals = ("mixes positive and negative parts", "null is not allowed in a vector")
        if not any(refusal in str(error) for refusal in refusals):
            raise


if __name__ == "__main__":
    sys.exit(run(__doc__, fuzz, 20261120, "inputs"))
