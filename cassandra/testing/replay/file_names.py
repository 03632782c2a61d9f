"""Names of the files in which the fixture `cassandra_replay` keeps the recordings of tests."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

_plain = re.compile(r"[a-z0-9_.\[\]-]{1,240}")
_other_characters = re.compile(r"[^A-Za-z0-9_.\[\]-]+")
_MAX_LENGTH = 100  # of the readable part, if the name has a digest


def file_name(classes: Sequence[str], test: str) -> str:
    """Return the file name of a test's recording, which no other test of the module has.

    The name of a function with lower-case letters is used unchanged. Other names get a digest: file
    systems may ignore the case, and some characters are not valid in file names.

    :param classes: the names of the classes around the test, the outermost first.
    :param test: the name of the test, with its parameters.
    """
    full_name = ".".join([*classes, test])
    if not classes and _plain.fullmatch(test):
        return f"{test}.jsonl"
    digest = hashlib.sha256(full_name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    # Plain names have no tilde, so they differ from names with a digest.
    return f"{_other_characters.sub('_', full_name)[:_MAX_LENGTH]}~{digest}.jsonl"
