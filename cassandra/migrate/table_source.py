"""How this driver differs from other drivers: names, settings and packages in the source."""

from __future__ import annotations

from cassandra.migrate.entries import Difference
from cassandra.migrate.matchers import (
    BREAKS,
    DIFFERS,
    NOTE,
    MissingAttribute,
    MissingName,
    ModuleOf,
    NameOf,
    NoticedAs,
    PrivateAttribute,
    Setting,
    TextOf,
    UnknownSetting,
)
from cassandra.migrate.noticed import EVENTLET

# Compiled modules of other drivers, which this driver does not have.
COMPILED = tuple(
    f"cassandra.{name}"
    for name in (
        "bytesio",
        "c_shard_info",
        "cython_lz4",
        "cython_marshal",
        "cython_utils",
        "io.libevwrapper",
        "ioutils",
        "numpy_parser",
        "obj_parser",
        "parsing",
        "row_parser",
    )
)
# Classes whose public attributes are compared with this driver; see `MissingAttribute`.
OBJECTS = (
    "cassandra.cluster.Cluster",
    "cassandra.cluster.ExecutionProfile",
    "cassandra.cluster.ResponseFuture",
    "cassandra.cluster.ResultSet",
    "cassandra.cluster.Session",
    "cassandra.metadata.KeyspaceMetadata",
    "cassandra.metadata.Metadata",
    "cassandra.metadata.TableMetadata",
    "cassandra.pool.Host",
    "cassandra.query.BoundStatement",
    "cassandra.query.PreparedStatement",
)
# Functions that get the name of an installed distribution.
VERSIONS_OF = (
    "metadata.distribution",
    "metadata.files",
    "metadata.metadata",
    "metadata.requires",
    "metadata.version",
    "pkg_resources.get_distribution",
    "pkg_resources.require",
)
# Keyword arguments, for example of `setup`, that list required distributions.
REQUIRES = (":install_requires", ":requires", ":requirements", ":tests_require", ":dependencies")
# Patterns for a requirement of another driver without a version and with one, and for environment
# variables of its installation.
DISTRIBUTION = r"(cassandra|scylla)-driver"
WITH_VERSION = DISTRIBUTION + r"\s*(\[[\w, -]*\]\s*)?(===?|[<>~!]=|[<>]).*"
SWITCHES = (
    r"CASS_DRIVER_(NO_CYTHON|NO_LIBEV|NO_MURMUR3|NO_EXTENSIONS|BUILD_CONCURRENCY|"
    r"BUILD_EXTENSIONS_ARE_MUST|LIBEV_INCLUDES|LIBEV_LIBS)"
)

SOURCE = [
    Difference(
        key="missing-names",
        what=(
            "Names and attributes that nothing documents (``cluster.scheduler``) are missing, and "
            "so are those that today's drivers have given up."
        ),
        why="Every documented name is there, and so are those that programs are known to import.",
        do="Use the documented name; if there is one that is missing, please report it.",
        matchers=(
            MissingName(BREAKS, is_private=False, besides=COMPILED),
            MissingAttribute(BREAKS, OBJECTS),
        ),
    ),
    Difference(
        key="compiled-parts",
        what=(
            "Compiled modules of today's drivers (``cassandra.bytesio``, ``numpy_parser``, "
            "``cython_marshal`` and their like) are missing."
        ),
        why="This driver's compiled modules have other names, and it uses them by itself.",
        do="Import from ``cassandra.protocol`` and ``cassandra.cqltypes``, or nothing.",
        matchers=(NameOf(BREAKS, COMPILED, is_import=True),),
    ),
    Difference(
        key="private-names",
        what="Private names and attributes (``session._pools``) differ.",
        why="They belong to the inner workings of each driver.",
        do="Use a public name, for example ``get_pool_state`` or ``metadata``.",
        matchers=(MissingName(BREAKS, is_private=True), PrivateAttribute(BREAKS)),
    ),
    Difference(
        key="unknown-arguments",
        what=(
            "Arguments by names that no driver documents are a ``TypeError``, and attributes of a "
            "cluster, session or profile that are a misspelt setting an ``AttributeError``. An "
            "object of your own subclass takes such an attribute, and the log has a warning once. "
            "A ``RuntimeWarning`` names what has no effect: misspelt settings of a statement, "
            "settings of a cluster after ``connect``, parameters beside a batch or a bound "
            "statement. The class of a policy in place of a policy, and ``row_factory=dict``, "
            "are a ``TypeError`` at once."
        ),
        why="A setting that is misspelled would have no effect.",
        do="Correct the name, which the error does too, or leave it out.",
        matchers=(UnknownSetting(BREAKS),),
    ),
    Difference(
        key="protocol-versions",
        what=(
            "Protocol versions 1 and 2 and those of DataStax Enterprise are refused by "
            "``Cluster()``."
        ),
        why=(
            "No server that is maintained needs them. In cassandra-driver, ``connect`` raises the "
            "error."
        ),
        do="Leave ``protocol_version`` out.",
        matchers=(
            Setting(
                BREAKS,
                ("cassandra.cluster.Cluster", "cassandra.cqlengine.connection.setup"),
                "protocol_version",
                values=(1, 2, 65, 66),
                members=("V1", "V2", "DSE_V1", "DSE_V2"),
            ),
        ),
    ),
    Difference(
        key="distribution-name",
        what=(
            "The distribution is ``turbocql``: ``importlib.metadata`` and pip know no "
            "``cassandra-driver`` or ``scylla-driver``."
        ),
        why="Two distributions of one name cannot be told apart.",
        do="Ask for ``turbocql``, or install the shim of that name (:ref:`shims <shims>`).",
        matchers=(
            TextOf(BREAKS, DISTRIBUTION, callees=VERSIONS_OF),
            TextOf(DIFFERS, DISTRIBUTION, callees=REQUIRES),
            TextOf(DIFFERS, WITH_VERSION),
        ),
    ),
    Difference(
        key="build-switches",
        what=(
            "Of the variables of an installation, ``CASS_DRIVER_NO_EXTENSIONS``, "
            "``CASS_DRIVER_NO_CYTHON`` and ``CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST`` have an "
            "effect, those for libev and murmur3 none."
        ),
        why="All extensions are Cython's, and there is one event loop.",
        do="``CASS_DRIVER_IMPL=python`` chooses pure Python when the program starts.",
        matchers=(TextOf(NOTE, SWITCHES),),
    ),
    Difference(
        key="eventlet",
        what="With eventlet's patches, uvloop must be installed: otherwise a ``RuntimeError``.",
        why="eventlet hides the kernel's selectors; see :doc:`greenlets`.",
        do="``pip install uvloop``.",
        matchers=(
            NoticedAs(
                DIFFERS,
                EVENTLET,
                unless=lambda program: (
                    "cassandra" not in program.imports or "uvloop" in program.imports
                ),
            ),
        ),
    ),
    Difference(
        key="other-drivers",
        what=(
            "``acsylla``, ``aiocassandra`` and ``scyllapy`` have other names for what "
            "``cassandra.aio`` does."
        ),
        why="asyncio is native here.",
        do="See :doc:`guides/coming-from`, call by call.",
        matchers=(ModuleOf(NOTE, ("acsylla", "aiocassandra", "scyllapy"), is_alone=True),),
    ),
]
