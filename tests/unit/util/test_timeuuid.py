"""Time UUIDs from times, and back."""

from __future__ import annotations

import datetime
import uuid

import pytest

from cassandra import util


def test_time_uuids() -> None:
    moment = datetime.datetime(2020, 2, 29, 1, 2, 3, 456789)
    made = util.uuid_from_time(moment, node=5, clock_seq=6)
    assert made.version == 1
    assert (made.node, made.clock_seq) == (5, 6)
    assert util.datetime_from_uuid1(made) == moment
    assert util.unix_time_from_uuid1(made) == pytest.approx(1582938123.456789)
    assert util.uuid_from_time(0, 0, 0) == uuid.UUID("13814000-1dd2-11b2-8000-000000000000")
    aware = moment.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
    assert util.datetime_from_uuid1(util.uuid_from_time(aware)) == moment - datetime.timedelta(
        hours=1
    )
    assert str(util.min_uuid_from_time(0)).endswith("-8080-808080808080")
    assert str(util.max_uuid_from_time(0)).endswith("-bf7f-7f7f7f7f7f7f")
    assert util.uuid_from_time(1) != util.uuid_from_time(1)
    for wrong in ({"clock_seq": 1 << 14}, {"node": 1 << 48}):
        with pytest.raises(ValueError, match="bits"):
            util.uuid_from_time(0, **wrong)
    with pytest.raises(ValueError, match="outside the times"):
        util.uuid_from_time(-(10**12))
