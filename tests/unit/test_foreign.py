"""Another driver's files beside ours are found at import, whichever was installed last."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cassandra
from cassandra._foreign import foreign_files

OURS = Path(cassandra.__file__).parent


def install_ours(site: Path) -> None:
    shutil.copytree(
        OURS,
        site / "cassandra",
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("__pycache__", "*.c"),
    )


def install_other(site: Path, modules: list[str]) -> None:
    """What another distribution's installation leaves: its files, over ours where names are equal,
    and its record.
    """
    package = site / "cassandra"
    package.mkdir(exist_ok=True)
    written = ["cassandra/__init__.py", *(f"cassandra/{module}" for module in modules)]
    for name in written:
        (site / name).write_text('"""Somebody else\'s."""\n')
    info = site / "other_driver-3.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-driver\nVersion: 3.0\n")
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in written))


def run(site: Path, code: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(site), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        env=environment,
        cwd=site,
        check=False,
    )


def check_refused(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode != 0
    assert "ImportError" in done.stderr
    assert "other-driver" in done.stderr
    assert "pip uninstall -y other-driver turbocql" in done.stderr


@pytest.mark.slow
def test_ours_alone_is_accepted(tmp_path: Path) -> None:
    install_ours(tmp_path)
    done = run(tmp_path, "import cassandra.cluster, cassandra.query; print('fine')")
    assert done.stdout == "fine\n", done.stderr


@pytest.mark.slow
def test_a_shim_of_another_driver_s_name_is_accepted(tmp_path: Path) -> None:
    install_ours(tmp_path)
    info = tmp_path / "cassandra_driver-3.30.1+turbocql.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: cassandra-driver\nVersion: 3.30.1+turbocql\n"
    )
    (info / "RECORD").write_text(f"{info.name}/METADATA,,\n")
    done = run(
        tmp_path,
        "import cassandra.cluster, importlib.metadata as metadata; "
        "print(metadata.distribution('cassandra-driver').version)",
    )
    assert done.stdout == "3.30.1+turbocql\n", done.stderr


@pytest.mark.parametrize(
    "module", ["cluster.py", "cluster.cpython-311-x86_64-linux-gnu.so", "row_parser.pyx"]
)
def test_ours_installed_over_another(tmp_path: Path, module: str) -> None:
    install_other(tmp_path, [module])
    install_ours(tmp_path)
    check_refused(run(tmp_path, "import cassandra"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "entry", ["cluster", "query", "policies", "cqltypes", "protocol", "util", "metadata"]
)
def test_another_installed_over_ours(tmp_path: Path, entry: str) -> None:
    install_ours(tmp_path)
    install_other(tmp_path, ["cluster.py", "query.py", "util.py"])
    check_refused(run(tmp_path, f"import cassandra.{entry}"))


@pytest.mark.slow
def test_an_unknown_owner_is_said_to_be_unknown(tmp_path: Path) -> None:
    install_ours(tmp_path)
    (tmp_path / "cassandra" / "cluster.py").write_text("")
    done = run(tmp_path, "import cassandra")
    assert "another distribution that owns the package name 'cassandra'" in done.stderr


def test_this_installation_is_clean() -> None:
    assert foreign_files(str(OURS)) == []
