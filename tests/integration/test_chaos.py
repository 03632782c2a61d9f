"""A short run of random faults on real nodes; `python -m tests.chaos` runs a long one."""

from __future__ import annotations

import pytest

from cassandra.testing import LocalCluster
from tests.chaos.campaign import run

pytestmark = pytest.mark.integration


@pytest.mark.long
def test_no_row_is_lost_or_doubled_and_no_request_hangs(expendable: LocalCluster) -> None:
    verdict = run(40, seed=7, local=expendable)
    assert verdict.is_clean, verdict
    assert verdict.acknowledged > 500
