"""Test `report_absent`, which warns of or logs fields of which an object has no attribute."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cqltypes import Int32Type, UserType, UTF8Type, absent_fields
from cassandra.protocol.column_specs import ColumnMetadata
from tests.conftest import Implementation

ADDRESS = "ks.address"
FIELDS = ("street", "zip_code")


class Address:
    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


@pytest.fixture(autouse=True)
def forget_reports() -> Iterator[None]:
    """Forget earlier reports before each test, because each class is reported only once."""
    absent_fields._reported.clear()
    yield
    absent_fields._reported.clear()


@pytest.mark.parametrize(
    ("attributes", "field", "similar"),
    [
        ({"strete": "s", "zip_code": 1}, "street", "strete"),
        ({"street": "s", "zipCode": 1}, "zip_code", "zipCode"),
    ],
)
def test_a_misspelt_attribute_is_a_warning(
    implementation: Implementation, attributes: dict[str, Any], field: str, similar: str
) -> None:
    """If an object has a misspelled attribute for a field, binding the object gives a warning.

    The field is written as null, as in cassandra-driver. The warning points to the line of the
    call, and each class is reported once.
    """
    columns = [
        ColumnMetadata(
            "ks", "t", "a", UserType.make_udt_class("ks", "address", FIELDS, (UTF8Type, Int32Type))
        )
    ]
    plan = implementation.bind.BindPlan(columns, ())
    message = rf"no attribute '{field}', so this .* null; did you mean '{field}' by '{similar}'\?"
    with pytest.warns(RuntimeWarning, match=message) as record:
        plan.bind((Address(**attributes),), 5)
    assert record[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan.bind((Address(**attributes),), 5)


def test_another_absent_field_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """An absent field without a similar attribute is logged once, and gives no warning."""
    with caplog.at_level(logging.WARNING, "cassandra.cqltypes"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            absent_fields.report_absent(
                Address(street="s", city="c"), ADDRESS, FIELDS, ("zip_code",)
            )
    assert caplog.messages == [
        "Address has no attribute 'zip_code', so this field of ks.address is written as null"
    ]


def test_the_reports_are_limited(caplog: pytest.LogCaptureFixture) -> None:
    """After 1,000 reports, the earlier reports are forgotten, so a class is reported again."""
    types = [f"type{number}" for number in range(1001)]
    # At the end, report the last type, which is remembered, and the first, which is forgotten.
    for type_name in [*types, types[-1], types[0]]:
        absent_fields.report_absent(Address(street="s"), type_name, FIELDS, ("zip_code",))
    reported = [message.rpartition("field of ")[2].split()[0] for message in caplog.messages]
    assert reported == [*types, types[0]]
