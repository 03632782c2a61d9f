"""Command lines of the tools that load tables: turbocql, cqlsh (from PyPI), dsbulk (from Maven)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks._lib import peers
from benchmarks._lib.bulk_table import COLUMNS, NAME
from benchmarks._lib.report import Benchmark

VERSION = "1.10.0"  # the version of dsbulk that is downloaded
# The Maven artifacts of dsbulk that load and unload CSV, without the prefix "dsbulk-" of their
# names.
PARTS = (
    "runner",
    "workflow-load",
    "workflow-unload",
    "connectors-csv",
    "codecs-text",
    "executor-reactor",
    "batcher-reactor",
)
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
DEPENDENCY = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
)
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>dsbulk</artifactId><version>1</version>
<dependencies>{}</dependencies></project>
"""


class Tool:
    """A tool that loads and unloads tables.

    The command lines are lists of arguments, in which PATH stands for a file or folder.

    :param name: the heading of the tool's column.
    :param load: the command line that loads PATH.
    :param unload: the command lines that unload to PATH, by format.
    """

    def __init__(self, name: str, load: list[str], unload: dict[str, list[str]]) -> None:
        self.name = name
        self._load = load
        self._unload = unload

    @property
    def formats(self) -> list[str]:
        """The names of the formats that the tool can unload to, such as "csv"."""
        return list(self._unload)

    def load(self, path: Path) -> list[str]:
        """Return the command that loads a file."""
        return [argument.replace("PATH", str(path)) for argument in self._load]

    def unload(self, path: Path, form: str) -> list[str]:
        """Return the command that unloads the table.

        :param path: the file or folder to write.
        :param form: one of `formats`.
        """
        return [argument.replace("PATH", str(path)) for argument in self._unload[form]]


def turbocql(address: str, port: int, has_parquet: bool) -> Tool:
    """Return this driver's own tool, ``python -m cassandra.bulk``.

    :param has_parquet: True if it can unload to Parquet, too.
    """
    command = [sys.executable, "-m", "cassandra.bulk"]
    server = ["--hosts", address, "--port", str(port)]
    forms = ["csv", "parquet"] if has_parquet else ["csv"]
    return Tool(
        "turbocql",
        [*command, "load", NAME, "PATH", *server, "--no-progress"],
        {form: [*command, "unload", NAME, "PATH", *server, "--format", form] for form in forms},
    )


def cqlsh(bench: Benchmark, address: str, port: int) -> Tool | None:
    """Install cqlsh from PyPI if needed, and return it; None if that is not possible."""
    if not peers.prepare(bench, ("cqlsh",), ()):
        return None
    program = str(peers.environment("cqlsh", ()).with_name("cqlsh"))
    columns = ", ".join(column[0] for column in COLUMNS)
    command = [program, address, str(port), "-e"]
    return Tool(
        "cqlsh",
        [*command, f"COPY {NAME} ({columns}) FROM 'PATH' WITH HEADER = true"],
        {"csv": [*command, f"COPY {NAME} ({columns}) TO 'PATH' WITH HEADER = true"]},
    )


def dsbulk(bench: Benchmark, address: str, port: int) -> Tool | None:
    """Download the jars of dsbulk if needed, and return the tool; None if that is not possible."""
    folder = peers.cache() / f"dsbulk-{VERSION}"
    java, maven = shutil.which("java"), shutil.which("mvn")
    if bench.options.no_peers or java is None:
        bench.note("dsbulk is left out" + ("" if java else ": it needs Java"))
        return None
    if not (folder / "done").exists():
        if bench.options.quick or maven is None:
            bench.note("dsbulk is left out: its jars are not here, and fetching them needs Maven")
            return None
        bench.say(f"fetching dsbulk {VERSION} from Maven Central into {folder}: once")
        _fetch(folder, maven)
    bench.versions["dsbulk"] = VERSION
    main = "com.datastax.oss.dsbulk.runner.DataStaxBulkLoader"
    command = [java, "-cp", f"{folder}/jars/*", main]
    server = ["-h", json.dumps([address]), "-port", str(port), "-logDir", str(folder / "logs")]
    table = ["-k", NAME.split(".")[0], "-t", NAME.split(".")[1], *server]
    # The CSV file has timestamps in cqlsh's format, which dsbulk does not recognize by itself.
    table += ["--codec.timestamp", "yyyy-MM-dd HH:mm:ssZ"]
    return Tool(
        "dsbulk",
        [*command, "load", "-url", "PATH", *table],
        {"csv": [*command, "unload", "-url", "PATH", *table]},
    )


def _fetch(folder: Path, maven: str) -> None:
    """Have Maven download dsbulk's jars with their dependencies into the folder ``jars``."""
    folder.mkdir(parents=True, exist_ok=True)
    artifacts = [("com.datastax.oss", f"dsbulk-{part}", VERSION) for part in PARTS]
    artifacts.append(("ch.qos.logback", "logback-classic", "1.2.13"))
    pom = folder / "pom.xml"
    pom.write_text(POM.format("".join(DEPENDENCY.format(*artifact) for artifact in artifacts)))
    command = [maven, "-q", "-B", "-f", str(pom), PLUGIN, f"-DoutputDirectory={folder / 'jars'}"]
    subprocess.run(command, check=True, stdout=sys.stderr)
    (folder / "done").touch()
