"""Tests of modules that are imported at their first use, or by the first `Cluster` object."""

from __future__ import annotations

import importlib
import sys
import textwrap
from types import ModuleType
from typing import Any
from unittest import mock

import pytest

from cassandra import _imports, _lazy
from tests.interrupted_locks import Interrupt, InterruptedLock, is_free
from tests.processes import run_python


def test_a_deferred_module_is_imported_at_the_first_attribute_access() -> None:
    missing = _imports.Deferred("cassandra.no_such_module")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        _ = missing.anything
    assert _imports.Deferred("cassandra.limits").__name__ == "cassandra.limits"


def test_classes_of_a_missing_package_can_be_named_in_annotations() -> None:
    missing: Any = _imports.OptionalPackage("cassandra.no_such_module")
    assert missing.Table[int] is _imports.NotInstalled
    assert missing.Table is _imports.NotInstalled
    # Tools look such names up in modules.
    with pytest.raises(AttributeError):
        _ = missing.__wrapped__
    assert _imports.OptionalPackage("json").dumps([1]) == "[1]"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return a module in which two names are imported when the first cluster is created."""
    example = ModuleType("first_example")
    monkeypatch.setitem(sys.modules, "first_example", example)
    monkeypatch.setattr(_imports, "_waiting", [])
    monkeypatch.setattr(_imports, "_imported", 0)
    _imports.at_first_cluster("first_example", Fraction="fractions", json="json")
    return example


def test_registered_names_are_imported_by_import_all(module: ModuleType) -> None:
    _imports.import_all()
    assert vars(module)["Fraction"] is importlib.import_module("fractions").Fraction
    assert vars(module)["json"] is importlib.import_module("json")


def test_names_registered_later_are_imported_by_the_next_import_all(module: ModuleType) -> None:
    _imports.import_all()
    _imports.at_first_cluster("first_example", Decimal="decimal")
    _imports.import_all()
    assert vars(module)["Decimal"] is importlib.import_module("decimal").Decimal


def test_functions_are_called_once_by_import_all(module: ModuleType) -> None:
    calls: list[str] = []

    def register_another() -> None:
        calls.append("first")
        _imports.call_at_first_cluster(lambda: calls.append("second"))

    _imports.call_at_first_cluster(register_another)
    # An import may register further functions. Later calls must only call what is new.
    _imports.import_all()
    assert calls == ["first", "second"]
    _imports.call_at_first_cluster(lambda: calls.append("third"))
    _imports.import_all()
    assert calls == ["first", "second", "third"]


def test_using_a_registered_name_earlier_imports_it(module: ModuleType) -> None:
    """Until its import, a name must be a stand-in that can be called and used in `isinstance`."""
    stand_in = module.Fraction
    assert repr(stand_in) == "<fractions.Fraction, imported at the first use>"
    half = stand_in(1, 2)
    assert module.Fraction is type(half)
    assert isinstance(half, stand_in)
    assert isinstance(half, (str, stand_in))
    assert not isinstance(0.5, stand_in)
    assert module.json.dumps([1]) == "[1]"


def test_patched_names_stay_patched(module: ModuleType) -> None:
    with mock.patch.object(module, "Fraction") as patched:
        _imports.import_all()
        assert module.Fraction is patched
    assert module.Fraction(1, 2) == 0.5


class Home:
    """Has a method that another class gets as a lazy attribute."""

    def hello(self) -> str:
        return "hello"


def test_lazy_attributes_of_classes_are_imported_by_import_all(module: ModuleType) -> None:
    class ClassWithLazyAttributes:
        hello = _lazy.LazyAttribute(__name__, "Home", for_engine=True)
        loads = _lazy.LazyAttribute("json", name="dumps", for_engine=True)
        patched = _lazy.LazyAttribute("json", name="dumps", for_engine=True)

    with mock.patch.object(ClassWithLazyAttributes, "patched", 5):
        _imports.import_all()
        assert vars(ClassWithLazyAttributes)["hello"] is Home.hello
        assert vars(ClassWithLazyAttributes)["loads"] is importlib.import_module("json").dumps
        # An attribute that the application has patched must not be replaced.
        assert ClassWithLazyAttributes.patched == 5


# This program creates a cluster, and then prints the names in the driver's modules and classes that
# are still to be imported at their first use. If all is well, it prints nothing.
PENDING_PROGRAM = """
import sys
from cassandra.{api_module} import Cluster
Cluster(["127.0.0.1"])
from cassandra._imports import _Name
from cassandra._lazy import LazyAttribute
for name, module in list(sys.modules.items()):
    if name.partition(".")[0] == "cassandra":
        for attribute, value in vars(module).items():
            if isinstance(value, _Name):
                print(name, attribute)
from cassandra.client.session import SessionBase
from cassandra.policies import TokenAwarePolicy
for owner, attribute in (
    (SessionBase, "client_protocol_handler"), (TokenAwarePolicy, "make_query_plan")
):
    if isinstance(vars(owner)[attribute], LazyAttribute):
        print(owner, attribute)
"""


@pytest.mark.slow
@pytest.mark.parametrize("api_module", ["cluster", "aio"])
def test_no_import_is_pending_after_a_cluster_is_created(api_module: str) -> None:
    process = run_python(PENDING_PROGRAM.format(api_module=api_module))
    assert (process.stdout, process.stderr) == ("", "")


# These programs use the driver without a cluster, for example in tests of an application.
PROGRAMS = {
    "policies": """
        from unittest.mock import Mock
        from cassandra.policies import DCAwareRoundRobinPolicy, TokenAwarePolicy
        policy = TokenAwarePolicy(DCAwareRoundRobinPolicy("dc1"))
        hosts = [Mock(datacenter="dc1", rack="r1")]
        policy.populate(Mock(), hosts)
        assert list(policy.make_query_plan()) == hosts
        """,
    "profiles": """
        from cassandra.cluster import ExecutionProfile
        from cassandra.query import dict_factory
        assert ExecutionProfile(row_factory=dict_factory).request_observers == ()
        """,
    "statements": """
        from cassandra.query import BatchStatement, SimpleStatement, bind_params
        assert bind_params("%s", ("a'b",)) == "'a''b'"
        statement = SimpleStatement("SELECT 1", routing_key=[b"a", b"b"])
        assert statement.routing_key == b"\\0\\1a\\0\\0\\1b\\0"
        batch = BatchStatement()
        batch.add("INSERT INTO t (a) VALUES (%s)", (1,))
        """,
    "results": """
        from unittest.mock import Mock
        from cassandra.cluster import ResultSet
        result = ResultSet(Mock(has_more_pages=False), [(1,), (2,)])
        assert "2 rows" in repr(result)
        assert result.all() == [(1,), (2,)]
        """,
    "stand-ins for sessions": """
        from unittest.mock import create_autospec
        from cassandra.cluster import Cluster, Session
        session = create_autospec(Session)
        session.execute("SELECT 1")
        create_autospec(Cluster)
        assert Session.client_protocol_handler.__name__ == "ProtocolHandler"
        """,
    "metadata": """
        from cassandra.metadata import Murmur3Token, Metadata
        import cassandra.metadata, cassandra.query
        assert "Murmur3Token" in dir(cassandra.metadata)
        assert "SimpleStatement" in dir(cassandra.query)
        """,
    "all names": """
        from cassandra.cluster import *
        from cassandra.query import *
        from cassandra.metadata import *
        assert Session and SimpleStatement and TokenMap
        """,
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_without_a_cluster(program: str) -> None:
    """Each program must run without an error."""
    process = run_python(textwrap.dedent(PROGRAMS[program]))
    assert (process.returncode, process.stderr) == (0, "")


def test_modules_that_are_removed_from_sys_modules_are_not_imported_twice() -> None:
    """`mock.patch.dict` removes the modules that were imported within its block.

    If the first cluster is created there, later ones work all the same, and errors have the classes
    that the application has imported.
    """
    code = """if True:
        import sys
        from unittest import mock
        import cassandra.protocol
        from cassandra.cluster import Cluster
        from cassandra.testing.fake import ErrorCode, FakeCluster, error
        with FakeCluster(1) as nodes:
            nodes.prime("SELECT", error(ErrorCode.SYNTAX_ERROR, "no"))
            settings = {"contact_points": nodes.contact_points, "port": nodes.port}
            with mock.patch.dict(sys.modules, {"payments": mock.Mock()}):
                with Cluster(**settings) as cluster:
                    cluster.connect()
            assert "payments" not in sys.modules
            for _ in range(2):
                with Cluster(**settings) as cluster:
                    session = cluster.connect()
                    session.execute("SELECT cluster_name FROM system.local").one()
                    try:
                        session.execute("SELECT")
                    except cassandra.protocol.SyntaxException as error:
                        print(type(error).__name__)
    """
    process = run_python(code)
    assert (process.stderr, process.stdout) == ("", "SyntaxException\n" * 2)


def test_a_signal_handler_leaves_the_lock_of_the_imports_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Python ignores an error before the fork, and goes on with the fork."""
    lock = InterruptedLock(_imports._lock)
    monkeypatch.setattr(_imports, "_lock", lock)
    with pytest.raises(Interrupt):
        _imports._before_fork()
    assert not is_free(lock)
    _imports._in_parent()
    assert is_free(lock)
    # The same goes for an error that comes before the lock was acquired.
    _imports._in_parent()
    assert is_free(lock)
