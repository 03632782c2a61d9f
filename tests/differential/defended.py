"""The differences that stay, each with its reason."""

from __future__ import annotations

from tests.differential.compare import Defended

DEFENDED: list[Defended] = []
