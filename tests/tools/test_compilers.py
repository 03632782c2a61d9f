"""Tests of how compilers are recognised by the output of their ``--version``."""

from __future__ import annotations

from tests.compilers import KINDS


def test_the_output_of_version_matches_the_kind_of_compiler() -> None:
    """Each output must match one kind of compiler, or none if it names no compiler."""
    cases: list[tuple[str, str | None]] = [
        ("cc (Debian 12.2.0-14+deb12u1) 12.2.0", "GCC before 14"),
        ("gcc-14 (Ubuntu 14.2.0-4ubuntu2) 14.2.0", "GCC 14 or newer"),
        ("gcc (GCC) 16.1.1", "GCC 14 or newer"),
        ("Debian clang version 14.0.6", "Clang"),
        ("Apple clang version 17.0.0 (clang-1700.0.13.3)", "Clang"),
        ("clang version 20.1.2 (https://example.org/llvm 14.2.0)", "Clang"),
        ("?", None),
    ]
    for version, kind in cases:
        matching_kinds = [name for name, matches in KINDS.items() if matches(version)]
        assert matching_kinds == ([] if kind is None else [kind])
