"""Test the public class methods of type classes, such as `from_binary`.

On their fast path, these methods call the methods of the type's codec directly. If a method is
overridden or replaced, its class is on the slow path, which calls the overridden method.
"""

from __future__ import annotations

import gc
import inspect
import threading
import weakref
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

import cassandra._impl as implementations
from cassandra import cqltypes as t
from cassandra.cqltypes import CassandraTypeType, calls
from cassandra.sentinels import EMPTY
from tests.conftest import Implementation
from tests.waiting import WAIT

FIVE = b"\0\0\0\5"  # the encoded int 5
EPOCH = bytes(8)  # the encoded timestamp 1970-01-01
METHODS = ("serialize", "deserialize", "to_binary", "from_binary")


@pytest.fixture(autouse=True)
def use_implementation(
    implementation: Implementation, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Run each test with the compiled and the pure Python codecs.

    At the beginning of a test, all classes are on the slow path.
    """
    calls.withdraw()
    # An assignment to this attribute makes all types build their codecs again.
    t.Int32Type.support_empty_values = False
    monkeypatch.setattr(implementations, "codecs", implementation.codecs)
    yield
    calls.withdraw()
    t.Int32Type.support_empty_values = False
    monkeypatch.undo()


def is_fast(cls: Any) -> bool:
    """Return whether all four class methods of `cls` call its codec directly."""
    return all(
        type(getattr(getattr(cls, name), "__self__", None)) is implementations.codecs.TypeCalls
        and getattr(cls, name).__self__.owner is cls
        for name in METHODS
    )


def use_fast_path(cls: Any, value: Any) -> bytes:
    """Encode and decode `value`, check the result, and return the encoded value.

    These calls put the class on the fast path (direct calls of the codec), unless one of its
    methods is overridden.
    """
    data: bytes = cls.serialize(value, 4)
    assert cls.deserialize(data, 4) == value
    return data


def test_the_first_call_puts_a_class_on_the_fast_path() -> None:
    """The first call of its methods puts a class on the fast path."""
    assert not is_fast(t.Int32Type)
    assert use_fast_path(t.Int32Type, 5) == FIVE
    assert is_fast(t.Int32Type)


def test_the_fast_path_has_the_results_of_the_slow_one() -> None:
    """On the fast path, the class methods have the same results and errors as on the slow path."""
    use_fast_path(t.Int32Type, 5)
    assert t.Int32Type.to_binary(5, 4) == FIVE
    assert t.Int32Type.serialize(val=5, protocol_version=4) == FIVE
    assert t.Int32Type.to_binary(None, 4) == b""
    assert t.Int32Type.from_binary(FIVE, 4) == 5
    assert t.Int32Type.deserialize(byts=FIVE, protocol_version=4) == 5
    assert t.Int32Type.from_binary(None, 4) is None
    assert t.Int32Type.from_binary(b"", 4) is None
    # The first call takes the slow path, and the second call takes the fast path.
    assert t.UTF8Type.from_binary(b"", 4) == ""
    assert t.UTF8Type.from_binary(b"", 4) == ""
    for wrong_data in (b"", b"123"):
        with pytest.raises(ValueError, match="takes 4 bytes"):
            t.Int32Type.deserialize(wrong_data, 4)
    assert t.Int32Type.deserialize(memoryview(FIVE), 4) == 5  # type: ignore[arg-type]
    assert t.BytesType.serialize(bytearray(b"ab"), 4) == b"ab"


@pytest.mark.parametrize("name", METHODS)
def test_the_fast_path_keeps_signatures_and_docstrings(name: str) -> None:
    """On the fast path, a class method keeps the names of its parameters and has a docstring."""
    parameters_before = list(inspect.signature(getattr(t.Int32Type, name)).parameters)
    use_fast_path(t.Int32Type, 5)
    assert list(inspect.signature(getattr(t.Int32Type, name)).parameters) == parameters_before
    assert getattr(t.Int32Type, name).__doc__


def test_subclasses_have_a_fast_path_of_their_own() -> None:
    """A class does not take the fast path (direct calls of the codec) of its base class.

    The errors of the class name its own type, and its encoding may differ from that of the base
    class.
    """
    assert use_fast_path(t.LongType, 5) == bytes(7) + b"\5"
    with pytest.raises(OverflowError, match="range of counter"):
        t.CounterColumnType.serialize(1 << 63, 4)
    with pytest.raises(OverflowError, match="range of bigint"):
        t.LongType.serialize(1 << 63, 4)
    assert is_fast(t.CounterColumnType)
    assert is_fast(t.LongType)
    # TimeUUIDType is a subclass of DateType, but has another encoding. It must not inherit the fast
    # path of DateType.
    t.DateType.serialize(0, 4)
    assert t.TimeUUIDType.deserialize(bytes(16), 4).int == 0
    # A class whose methods were not called is not on the fast path.
    assert not is_fast(t.TimestampType)


def test_a_subclass_created_later_gets_its_own_fast_path() -> None:
    """A subclass begins with the original methods, although its base class is on the fast path."""
    use_fast_path(t.Int32Type, 5)
    later: Any = CassandraTypeType("_Later", (t.Int32Type,), {"typename": "later"})
    assert later.__dict__["serialize"] is calls.stock_methods["serialize"]
    with pytest.raises(OverflowError, match="range of later"):
        later.serialize(1 << 31, 4)
    assert is_fast(later)


class DoubledType(t.Int32Type):
    """An application's type that encodes the double of a number."""

    @classmethod
    def serialize(cls, val: Any, protocol_version: int) -> bytes:
        return super().serialize(val * 2, protocol_version)


class HalvedType(t.Int32Type):
    """An application's type that decodes a number to its half."""

    @classmethod
    def deserialize(cls, byts: bytes, protocol_version: int) -> Any:
        return super().deserialize(byts, protocol_version) / 2


def test_overridden_methods_stay_on_the_slow_path() -> None:
    """A class with an overridden method never gets on the fast path, nor do its collections."""
    # The second time, the base class is on the fast path, which its subclasses must not take.
    for _ in range(2):
        assert DoubledType.to_binary(5, 4) == DoubledType.serialize(5, 4) == b"\0\0\0\x0a"
        assert DoubledType.from_binary(FIVE, 4) == 5
        assert HalvedType.from_binary(FIVE, 4) == HalvedType.deserialize(FIVE, 4) == 2.5
        use_fast_path(t.Int32Type, 5)
    assert not is_fast(DoubledType)
    assert not is_fast(HalvedType)
    list_type = t.ListType.apply_parameters([DoubledType])
    assert list_type.deserialize(list_type.serialize([5], 4), 4) == [10]
    assert not is_fast(list_type)


def test_overridden_methods_get_the_protocol_version_inside_collections() -> None:
    """Within a collection, an overridden method gets the protocol version of the call."""

    class TypeReturningVersion(t.BytesType):
        @classmethod
        def serialize(cls, val: Any, protocol_version: int) -> bytes:
            return b"%d" % protocol_version

    for collection_type in (t.ListType, t.SetType):
        collection = collection_type.apply_parameters([TypeReturningVersion])
        for version in (3, 5, 4):
            assert collection.serialize([b"x"], version).endswith(b"%d" % version)


@pytest.mark.parametrize("is_fast_before", [False, True])
def test_replacing_a_method_affects_all_codecs_of_the_type(is_fast_before: bool) -> None:
    """While a method is replaced, its class, its subclasses and their containers use the new one.

    Afterwards, they use the original method again, on the fast path.
    """
    if is_fast_before:
        for cls in (t.DateType, t.TimestampType):
            use_fast_path(cls, cls.deserialize(EPOCH, 4))
    list_type = t.ListType.apply_parameters([t.TimestampType])
    # The list contains one timestamp, 1970-01-01.
    list_body = list_type.serialize([0], 4)
    with mock.patch.object(
        t.DateType, "deserialize", lambda byts, version: ("patched", byts, version)
    ):
        patched_result = ("patched", EPOCH, 4)
        assert t.DateType.from_binary(EPOCH, 4) == patched_result
        assert t.DateType.deserialize(EPOCH, 4) == patched_result
        assert t.TimestampType.from_binary(EPOCH, 4) == patched_result
        assert list_type.from_binary(list_body, 4) == [patched_result]
        assert t.TimestampType.codec(4).decode(EPOCH) == patched_result
        assert t.DateType.serialize(0, 4) == EPOCH
        assert not is_fast(t.DateType)
    # After the original method is restored, it is used again.
    for cls in (t.DateType, t.TimestampType):
        assert cls.from_binary(EPOCH, 4).year == 1970
        assert is_fast(cls)
    assert list_type.from_binary(list_body, 4)[0].year == 1970


def test_assigning_the_original_method_restores_the_fast_path() -> None:
    """An assignment of the original method puts the class on the fast path again.

    The method may have been read from the class before or after the class was on the fast path.
    """
    original = t.DateType.deserialize
    use_fast_path(t.DateType, original(EPOCH, 4))
    fast_method = t.DateType.deserialize
    for method in (original, fast_method):
        t.DateType.deserialize = staticmethod(lambda byts, version: "mine")  # type: ignore[method-assign, assignment]
        assert t.DateType.from_binary(EPOCH, 4) == "mine"
        t.DateType.deserialize = method  # type: ignore[method-assign]
        assert t.DateType.from_binary(EPOCH, 4).year == 1970
        assert is_fast(t.DateType)


def test_deleting_an_assigned_method_restores_the_original_one() -> None:
    """If an assigned method is deleted, the original method is used again."""
    t.DateType.deserialize = staticmethod(lambda byts, version: "mine")  # type: ignore[method-assign, assignment]
    del t.DateType.deserialize
    assert t.DateType.deserialize(EPOCH, 4).year == 1970
    with pytest.raises(AttributeError):
        del t.DateType.nothing  # type: ignore[attr-defined]


def test_a_counter_keeps_its_name_after_its_method_was_restored() -> None:
    """After a replaced method is restored, the errors of a counter still name the type counter.

    They must not name bigint, the counter's base class.
    """
    with mock.patch.object(t.CounterColumnType, "serialize", return_value=b"mine"):
        assert t.CounterColumnType.serialize(1, 4) == b"mine"
        use_fast_path(t.LongType, 1)
    for _ in range(2):
        with pytest.raises(OverflowError, match="range of counter"):
            t.CounterColumnType.serialize(1 << 63, 4)


def test_a_changed_attribute_takes_effect_at_the_next_call() -> None:
    """A changed attribute takes effect at the next call, also on the fast path.

    The codec of a type depends on such an attribute.
    """
    use_fast_path(t.Int32Type, 5)
    t.Int32Type.support_empty_values = True
    # The first call after the change takes the slow path, and the second call the fast path.
    assert t.Int32Type.from_binary(b"", 4) is EMPTY
    assert t.Int32Type.from_binary(b"", 4) is EMPTY
    t.Int32Type.support_empty_values = False
    assert t.Int32Type.from_binary(b"", 4) is None
    user_type = t.UserType.make_udt_class("ks", "called", ("a",), (t.Int32Type,))
    body = use_fast_path(user_type, (5,))
    user_type.mapped_class = dict
    assert user_type.deserialize(body, 4) == {"a": 5}
    user_type.mapped_class = None
    assert user_type.deserialize(body, 4) == (5,)


@pytest.mark.parametrize("is_fast_before", [False, True])
def test_methods_taken_from_another_type_are_used(is_fast_before: bool) -> None:
    """A class of blobs may take the methods of strings, when it is created or later.

    Subclasses inherit these methods.
    """
    if is_fast_before:
        use_fast_path(t.UTF8Type, "x")
    text_methods = {"serialize": t.UTF8Type.serialize, "deserialize": t.UTF8Type.deserialize}
    class_with_methods: Any = CassandraTypeType("_Texts", (t.BytesType,), dict(text_methods))
    subclass: Any = CassandraTypeType("_Below", (class_with_methods,), {})
    class_with_later_methods: Any = CassandraTypeType("_Set", (t.BytesType,), {})
    for name, method in text_methods.items():
        setattr(class_with_later_methods, name, method)
    # In the second iteration, all cached codecs have been dropped.
    for _ in range(2):
        for cls in (class_with_methods, subclass, class_with_later_methods):
            assert cls.serialize("x", 4) == cls.to_binary("x", 4) == b"x"
            assert cls.deserialize(b"x", 4) == cls.from_binary(b"x", 4) == "x"
            assert cls.codec().encode("x") == b"x"
        assert t.BytesType.deserialize(b"x", 4) == b"x"
        t.Int32Type.support_empty_values = False  # drops all cached codecs


def test_methods_of_a_mixin_are_used() -> None:
    """If a type class has a mixin with a class method, the mixin's method is called."""

    class Mixin:
        @classmethod
        def to_binary(cls, val: Any, protocol_version: int) -> bytes:
            return b"mixed"

    mixed: Any = CassandraTypeType("_Mixed", (Mixin, t.Int32Type), {})
    for _ in range(2):
        assert mixed.to_binary(5, 4) == b"mixed"
        assert mixed.serialize(5, 4) == FIVE
        # In the second iteration, the base class is on the fast path, which its subclasses must not
        # take.
        use_fast_path(t.Int32Type, 5)


def test_methods_of_containers_take_the_fast_path() -> None:
    """Calls put lists, maps, tuples and vectors on the fast path, with unchanged results."""
    for cqltype, value in (
        (t.ListType.apply_parameters([t.Int32Type]), [1, None, 3]),
        (t.MapType.apply_parameters([t.UTF8Type, t.Int32Type]), {"a": 1}),
        (t.TupleType.apply_parameters([t.Int32Type, t.UTF8Type]), (1, "x")),
        (t.VectorType.apply_parameters([t.FloatType, 2], None), [1.0, 2.0]),
    ):
        use_fast_path(cqltype, value)
        assert is_fast(cqltype)
        # On the fast path, calls return the same results as before.
        use_fast_path(cqltype, value)


def test_methods_may_be_called_while_another_thread_changes_attributes() -> None:
    """While another thread changes an attribute, each call has a valid result.

    The result is right for either the old or the new value of the attribute.
    """
    failures: list[BaseException] = []
    must_stop = threading.Event()

    def call_methods() -> None:
        try:
            while not must_stop.is_set():
                assert t.Int32Type.serialize(5, 4) == FIVE
                assert t.CounterColumnType.from_binary(bytes(8), 4) == 0
                assert t.Int32Type.from_binary(b"", 4) in (None, EMPTY)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=call_methods) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for turn in range(300):
            # Each change drops all cached codecs.
            t.Int32Type.support_empty_values = turn % 2 == 0
    finally:
        must_stop.set()
        for thread in threads:
            thread.join(WAIT)
    assert failures == []


def test_classes_are_not_kept_alive() -> None:
    """A class that was on the fast path is freed when the application deletes it."""
    cqltype: Any = CassandraTypeType("_Gone", (t.Int32Type,), {})
    use_fast_path(cqltype, 5)
    reference = weakref.ref(cqltype)
    del cqltype
    gc.collect()
    assert reference() is None
