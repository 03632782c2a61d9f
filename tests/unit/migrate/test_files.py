"""Test which files the check reads, and which files it leaves out."""

from __future__ import annotations

import json
from pathlib import Path

from cassandra.migrate import files


def test_folders_of_environments_and_tools_are_left_out(tmp_path: Path) -> None:
    """`walk` leaves out hidden files, and the folders of virtual environments and tools."""
    read_paths = ["a.py", "b.pyw", "c.ipynb", "deep/er/d.py"]
    left_out_paths = [
        "x.txt", ".hidden.py", ".git/x.py", ".venv/x.py", "venv/x.py", "node_modules/x.py",
        "lib/site-packages/x.py", "myenv/lib/x.py", "deep/__pycache__/x.py",
    ]  # fmt: skip
    # The file pyvenv.cfg makes `myenv` a virtual environment, so `myenv` is left out.
    for name in [*read_paths, *left_out_paths, "myenv/pyvenv.cfg"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert [path.relative_to(tmp_path).as_posix() for path in files.walk(tmp_path)] == read_paths
    # A path on the command line is always read, whatever its name.
    assert list(files.walk(tmp_path / ".git" / "x.py")) == [tmp_path / ".git" / "x.py"]
    assert list(files.walk(tmp_path / "venv")) == [tmp_path / "venv" / "x.py"]


def test_folders_that_are_links_are_read_once(tmp_path: Path) -> None:
    """Links are followed out of the project, but not to folders that were read, or above it."""
    project, shared = tmp_path / ".work" / "project", tmp_path / "shared"
    for folder in (project / "own", shared / "deep", tmp_path / "venv" / "lib", shared / ".hidden"):
        folder.mkdir(parents=True)
        (folder / "a.py").touch()
    for name, target in {
        "again": shared,
        "app": shared,
        "above": tmp_path,
        "everything": Path("/"),
        "here": project,
        "another": project / "own",
        "packages": tmp_path / "venv" / "lib",
        "hidden": shared / ".hidden",
        "gone": tmp_path / "gone",
    }.items():
        (project / name).symlink_to(target, target_is_directory=True)
    # These links lead back: to the project, and to their own folder.
    (shared / "back").symlink_to(project, target_is_directory=True)
    (shared / "deep" / "loop").symlink_to(shared, target_is_directory=True)
    found = [str(path.relative_to(project)) for path in files.walk(project)]
    assert found == ["own/a.py", "again/deep/a.py"]


def test_files_that_name_no_driver_are_not_parsed(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("print 'python 2'")
    assert list(files.read(path)) == []


def test_unreadable_files_are_reported(tmp_path: Path) -> None:
    """A file that cannot be parsed, decoded or opened is returned as `Unread`."""
    path = tmp_path / "a.py"
    path.write_text("import cassandra\nprint 'python 2'\n")
    (unread,) = files.read(path)
    assert isinstance(unread, files.Unread)
    assert (unread.location, unread.line) == (str(path), 2)
    path.write_bytes(b"# cassandra \xff")
    assert isinstance(next(files.read(path)), files.Unread)
    path.write_bytes(b"# coding: nothing\nimport cassandra")
    assert isinstance(next(files.read(path)), files.Unread)
    path.write_text("import cassandra\0")
    assert isinstance(next(files.read(path)), files.Unread)
    assert isinstance(next(files.read(tmp_path / "missing.py")), files.Unread)


def test_a_file_is_read_in_the_encoding_that_it_declares(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes("# coding: latin-1\nname = 'é'\nimport cassandra".encode("latin-1"))
    assert isinstance(next(files.read(path)), files.Source)


def test_lines_of_notebooks_that_begin_with_an_operator(tmp_path: Path) -> None:
    """A line that begins with ``%`` or ``!=`` belongs to an expression; it is not a command."""
    cells = [
        {"cell_type": "code", "source": "import cassandra\nx = ('%s'\n     %x)"},
        {"cell_type": "code", "source": "%time x\nx = ('%s'\n  % x\n  != 2\n%(3))\n!ls\n?x"},
    ]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    (source,) = files.read(path)
    assert isinstance(source, files.Source)
    assert [(node.cell, node.lineno) for node in source.tree.body] == [  # type: ignore[attr-defined]
        (1, 1), (1, 2), (2, 1), (2, 2), (2, 6), (2, 7),
    ]  # fmt: skip


def test_code_cells_of_notebooks_are_parsed_without_their_commands(tmp_path: Path) -> None:
    """The code cells of a notebook are parsed without the notebook's commands.

    A file that is not a notebook counts as unreadable.
    """
    cells = [
        {"cell_type": "markdown", "source": ["# Title"]},
        {"cell_type": "code", "source": ["%pip install x\n", "import cassandra\n", "!ls\n"]},
        {"cell_type": "code", "source": "%%bash\nls | more"},
        {"cell_type": "code", "source": "broken ("},
        {"cell_type": "code", "source": "for x in y:\n    %time x\n"},
        {"cell_type": "code", "source": "%%capture out\n%%time\nz = 1"},
        {"cell_type": "code", "source": "%%timestamp\nz = 1"},
    ]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    unread_cell, source = files.read(path)
    assert isinstance(unread_cell, files.Unread)
    assert unread_cell.location == f"{path}[4]"
    assert isinstance(source, files.Source)
    # Each pair is the number of a cell, and a line in the cell. An empty statement replaces a
    # command.
    assert [(node.cell, node.lineno) for node in source.tree.body] == [  # type: ignore[attr-defined]
        (2, 1), (2, 2), (2, 3), (5, 1), (6, 2), (6, 3),
    ]  # fmt: skip
    path.write_text("{}")
    assert isinstance(next(files.read(path)), files.Unread)
    path.write_text("no json")
    assert isinstance(next(files.read(path)), files.Unread)
