"""Names of the files in which the fixture `cassandra_replay` keeps the recordings of tests."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

# `_plain` matches names that are used unchanged. `_other_characters` matches the characters that an
# underscore replaces in all other names.
_plain = re.compile(r"[a-z0-9_.\[\]-]{1,240}")
_other_characters = re.compile(r"[^A-Za-z0-9_.\[\]-]+")
_MAX_LENGTH = 100  # maximum length of the readable part of a name with a digest


def file_name(classes: Sequence[str], test: str) -> str:
    """Return a file name for a test's recording, unique among the tests of a module.

    A function's name in lower-case letters is used unchanged. Other names get a digest, because
    file systems may ignore the case, and some characters are not valid in file names.

    :param classes: the names of the classes around the test, the outermost first.
    :param test: the name of the test, with its parameters.
    """
    full_name = ".".join([*classes, test])
    if not classes and _plain.fullmatch(test):
        return f"{test}.jsonl"
    digest = hashlib.sha256(full_name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    # Plain names have no tilde, so they differ from names with a digest.
    return f"{_other_characters.sub('_', full_name)[:_MAX_LENGTH]}~{digest}.jsonl"
