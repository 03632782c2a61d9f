"""`cassandra.type_codes` has the codes of the specification."""

from __future__ import annotations

from cassandra import cqltypes, type_codes


def test_type_codes() -> None:
    """native_protocol_v5.spec, section 4.2.5.2."""
    codes = {name: value for name, value in vars(type_codes).items() if name[0].isupper()}
    assert len(codes) == 27
    assert (
        codes["CUSTOM_TYPE"],
        codes["AsciiType"],
        codes["DurationType"],
        codes["TupleType"],
    ) == (0, 1, 0x15, 0x31)
    for name in codes:
        assert name == "CUSTOM_TYPE" or issubclass(getattr(cqltypes, name), cqltypes.CassandraType)
