"""A short run of random faults on real nodes; `python -m tests.chaos` runs a long one."""

from __future__ import annotations

import pytest

from cassandra.testing import LocalCluster
from tests.chaos.campaign import run

pytestmark = pytest.mark.integration


@pytest.mark.longest
def test_nothing_is_lost_doubled_crossed_or_hung(expendable: LocalCluster) -> None:
    """No row is lost or written twice; no request hangs or gets another request's response."""
    verdict = run(40, seed=7, local=expendable)
    assert verdict.is_clean, verdict
    assert verdict.acknowledged > 500
