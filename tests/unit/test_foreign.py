"""Tests of the report at import of another driver with the package name `cassandra`.

It does not matter which driver was installed last. Imports also report files of this package that
were removed together with the other driver.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cassandra
from cassandra._foreign import check_files, foreign_files
from tests.conftest import Implementation

PACKAGE = Path(cassandra.__file__).parent
UPGRADING = Path(__file__).parents[2] / "docs" / "upgrading.rst"
# This command restores the files of this package.
PUT_BACK = "pip install --force-reinstall --no-deps dist/turbocql-*.whl"

# These files are also in the wheels of cassandra-driver 3.29.3 and 3.30.1 or of scylla-driver
# 3.29.12, so uninstalling one of these removes them.
COMMON = """
__init__.py application_info.py auth.py client_routes.py column_encryption/policies.py concurrent.py
connection.py cqlengine/__init__.py cqlengine/connection.py cqlengine/functions.py
cqlengine/management.py cqlengine/models.py cqlengine/named.py cqlengine/operators.py
cqlengine/statements.py cqlengine/usertype.py cython_deps.py datastax/__init__.py
datastax/cloud/__init__.py datastax/graph/__init__.py datastax/graph/fluent/__init__.py
datastax/graph/fluent/predicates.py datastax/graph/fluent/query.py datastax/graph/graphson.py
datastax/graph/query.py datastax/graph/types.py datastax/insights/__init__.py
datastax/insights/reporter.py datastax/insights/util.py driver_config.py encoder.py io/__init__.py
io/asyncioreactor.py io/asyncorereactor.py io/eventletreactor.py io/geventreactor.py
io/libevreactor.py io/twistedreactor.py marshal.py metrics.py murmur3.py pool.py
protocol_features.py segment.py shard_info.py ssl_session_cache.py tablets.py timestamps.py
type_codes.py
"""
# When the files of COMMON are missing, these import statements must raise an ImportError that
# explains why.
EXPLAINED = [
    "from cassandra.cluster import Cluster",
    "from cassandra.query import SimpleStatement",
    "from cassandra.policies import RoundRobinPolicy",
    "from cassandra.metadata import Metadata",
    "from cassandra.cqltypes import Int32Type",
    "from cassandra.protocol import ProtocolHandler",
    "from cassandra.util import Date",
    "from cassandra.aio import Cluster",
    "from cassandra.bulk import LoadOptions",
    "from cassandra.column_encryption.policies import AES256ColumnEncryptionPolicy",
    "from cassandra.cqlengine import columns",
    "from cassandra.cqlengine.query import BatchQuery",
    "from cassandra.decoder import QueryMessage",
    "from cassandra.diagnostics import report",
    "from cassandra.observability import logging",
    "import cassandra.doctor.__main__",
    "import cassandra.migrate.__main__",
]
# For these statements, all files that could explain the reason are missing as well, so Python
# raises its usual error.
UNEXPLAINED = {
    "import cassandra; cassandra.__version__": (
        "AttributeError: module 'cassandra' has no attribute '__version__'"
    ),
    "from cassandra import ConsistencyLevel": (
        "ImportError: cannot import name 'ConsistencyLevel' from 'cassandra' (unknown location)"
    ),
    "from cassandra.auth import PlainTextAuthProvider": (
        "ModuleNotFoundError: No module named 'cassandra.auth'"
    ),
    "from cassandra.concurrent import execute_concurrent": (
        "ModuleNotFoundError: No module named 'cassandra.concurrent'"
    ),
    "from cassandra.cqlengine.models import Model": (
        "ModuleNotFoundError: No module named 'cassandra.cqlengine.models'"
    ),
}


def install_ours(site_packages: Path) -> None:
    """Copy this package to a new directory for installed packages."""
    shutil.copytree(
        PACKAGE,
        site_packages / "cassandra",
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("__pycache__", "*.c"),
    )


def install_other(site_packages: Path, modules: list[str]) -> None:
    """Copy the files of another distribution over this package, with a RECORD that lists them."""
    package = site_packages / "cassandra"
    package.mkdir(exist_ok=True)
    names = ["cassandra/__init__.py", *(f"cassandra/{module}" for module in modules)]
    for name in names:
        (site_packages / name).write_text('"""Somebody else\'s."""\n')
    info = site_packages / "other_driver-3.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-driver\nVersion: 3.0\n")
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in names))


def run(
    site_packages: Path, code: str, implementation: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run code in a child process whose only installed packages are those in `site_packages`."""
    environment = {
        "PYTHONPATH": str(site_packages),
        "PATH": "/usr/bin:/bin",
        "CASS_DRIVER_IMPL": implementation,
    }
    return subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        env=environment,
        cwd=site_packages,
        check=False,
    )


def check_refused(process: subprocess.CompletedProcess[str]) -> None:
    """Check that the import failed, with an error that names the other driver.

    The error also says how to restore turbocql.
    """
    assert process.returncode != 0
    assert "ImportError" in process.stderr
    assert "other-driver" in process.stderr
    # The command must first check (`ls`) that the wheel exists from which it restores the package,
    # and uninstall the other driver only then.
    assert (
        f"ls dist/turbocql-*.whl && pip uninstall -y other-driver && {PUT_BACK}" in process.stderr
    )


@pytest.mark.slow
def test_an_installation_of_only_this_package_is_accepted(tmp_path: Path) -> None:
    install_ours(tmp_path)
    process = run(tmp_path, "import cassandra.cluster, cassandra.query; print('fine')")
    assert process.stdout == "fine\n", process.stderr


@pytest.mark.slow
def test_a_shim_with_another_driver_s_name_is_accepted(tmp_path: Path) -> None:
    """A distribution with another driver's name must be no conflict if it has no files."""
    install_ours(tmp_path)
    info = tmp_path / "cassandra_driver-3.30.1+turbocql.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: cassandra-driver\nVersion: 3.30.1+turbocql\n"
    )
    (info / "RECORD").write_text(f"{info.name}/METADATA,,\n")
    process = run(
        tmp_path,
        "import cassandra.cluster, importlib.metadata as metadata; "
        "print(metadata.distribution('cassandra-driver').version)",
    )
    assert process.stdout == "3.30.1+turbocql\n", process.stderr


@pytest.mark.parametrize(
    "module", ["cluster.py", "cluster.cpython-311-x86_64-linux-gnu.so", "row_parser.pyx"]
)
def test_this_package_installed_over_another_is_refused(tmp_path: Path, module: str) -> None:
    install_other(tmp_path, [module])
    install_ours(tmp_path)
    check_refused(run(tmp_path, "import cassandra"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "entry", ["cluster", "query", "policies", "cqltypes", "protocol", "util", "metadata"]
)
def test_another_package_installed_over_this_one_is_refused(tmp_path: Path, entry: str) -> None:
    install_ours(tmp_path)
    install_other(tmp_path, ["cluster.py", "query.py", "util.py"])
    check_refused(run(tmp_path, f"import cassandra.{entry}"))


@pytest.mark.slow
def test_a_foreign_file_without_a_record_has_an_unknown_owner(tmp_path: Path) -> None:
    install_ours(tmp_path)
    (tmp_path / "cassandra" / "cluster.py").write_text("")
    process = run(tmp_path, "import cassandra")
    assert "another distribution that owns the package name 'cassandra'" in process.stderr


def test_the_tests_installation_has_no_foreign_files() -> None:
    assert foreign_files(os.listdir(PACKAGE)) == []


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an installation from which uninstalling another driver has removed some files."""
    site_packages = tmp_path_factory.mktemp("broken")
    install_ours(site_packages)
    for name in COMMON.split():
        (site_packages / "cassandra" / name).unlink()
    return site_packages


@pytest.mark.slow
@pytest.mark.parametrize("statement", EXPLAINED)
def test_imports_explain_missing_files(
    broken: Path, statement: str, implementation: Implementation
) -> None:
    """The error for missing files must name one, and the command that restores them."""
    process = run(broken, statement, implementation.name)
    last = process.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: {broken}/cassandra/__init__.py is not there"), (
        process.stderr
    )
    assert PUT_BACK in last


@pytest.mark.slow
@pytest.mark.parametrize(("statement", "message"), UNEXPLAINED.items())
def test_the_documentation_quotes_the_errors_that_python_itself_raises(
    broken: Path, statement: str, message: str
) -> None:
    # From Python 3.15 on, the message has one more sentence, so compare only its beginning.
    assert run(broken, statement).stderr.splitlines()[-1].startswith(message)
    assert message in " ".join(UPGRADING.read_text().split())


def test_missing_files_raise_an_error_at_each_import(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(ImportError, match="not there, which is a part"):
            check_files(str(tmp_path))


def test_the_package_can_be_imported_from_a_zip_file(tmp_path: Path) -> None:
    """The package may be in a zip file, such as one of zipapp or of Spark's ``--py-files``."""
    install_ours(tmp_path / "files")
    archive = shutil.make_archive(str(tmp_path / "dependencies"), "zip", tmp_path / "files")
    code = (
        "import cassandra.aio, cassandra.bulk, cassandra.query\n"
        "from cassandra.cluster import Cluster\n"
        "Cluster(['127.0.0.1']).shutdown()\n"
        "print(cassandra.__file__)"
    )
    environment = {**os.environ, "PYTHONPATH": archive, "CASS_DRIVER_IMPL": "python"}
    result = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True, text=True, env=environment, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert (result.stderr, result.stdout.startswith(archive)) == ("", True)


def test_the_directory_of_a_frozen_program_is_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a program of PyInstaller, the directory of the package has only the compiled modules."""
    with pytest.raises(ImportError, match=r"__init__\.py is not there"):
        check_files(str(tmp_path))
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    check_files(str(tmp_path))
