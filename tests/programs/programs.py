"""The third-party programs that the tests run with this driver, and the packages of each."""

from __future__ import annotations

from tests.programs.environments import Program

PROGRAMS = {
    "cqlsh": Program(("cqlsh==6.2.2",)),
    "opentelemetry": Program(
        ("opentelemetry-instrumentation-cassandra==0.66b1", "opentelemetry-sdk"),
    ),
    # This is the last version that traces Cassandra. In version 4 and later,
    # ddtrace.patch(cassandra=True) raises an error.
    "ddtrace": Program(("ddtrace==3.19.9",)),
    "newrelic": Program(("newrelic==14.1.0",)),
    "instana": Program(("instana==3.20.0",)),
    "elastic_apm": Program(
        ("elastic-apm==6.26.2",),
        # Unlike in the other driver, bound statements have a `query_string` in turbocql, so the
        # name of the span contains the statement.
        differs=(
            (
                "Session.execute db cassandra query success\n"
                "{'instance': 'programs_elastic_apm'} [('address'",
                "INSERT INTO t db cassandra query success\n"
                "{'instance': 'programs_elastic_apm', 'type': 'sql', 'statement': "
                "'INSERT INTO t (id, v) VALUES (?, ?)'} [('address'",
            ),
        ),
    ),
    "cassio": Program(("cassio==0.1.10",)),
    "langchain": Program(("langchain-community==0.4.2", "cassio==0.1.10")),
    "llama_index": Program(("llama-index-vector-stores-cassandra==0.6.0",)),
    "langflow": Program(("lfx-datastax==0.2.1",)),
    "agno": Program(("agno==3.1.10", "cassio")),
    "mem0": Program(("mem0ai==2.2.1", "numpy", "cassandra-driver")),
    "datasketch": Program(("datasketch[cassandra]==2.0.0",)),
    "adapta": Program(
        ("adapta[storage-cassandra,storage-iceberg]==5.3.8",),
        # adapta asks for the schema parser of the server version "4-a". cassandra-driver raises an
        # error for this version; turbocql accepts it.
        differs=(
            (
                "metadata: Version string 4-a did not match expected format",
                "metadata: reading {'sensor': 'text', 'number': 'int', 'at': 'timestamp', "
                "'tags': 'list<text>', 'value': 'double'} ['sensor', 'number']",
            ),
        ),
    ),
    # The tests of swh-storage need these packages. The extra "testing" of swh-storage would also
    # require headers of systemd.
    "swh_storage": Program(
        ("swh-storage[journal,pytest]==4.3.0", "hypothesis", "pytest-mock", "pytz"),
    ),
    "trustgraph": Program(
        requirements=("trustgraph-base==2.11.1", "scylla-driver"),
        alone=("trustgraph-flow==2.11.1",),
        driver="scylla-driver",
    ),
    "openframe": Program(("openframe-adapters-db-cassandra==0.1.0",)),
    "evoid": Program(("evoid-scylla==0.2.0",), python="3.12"),
    "feast": Program(("feast==0.67.0",)),
    "celery": Program(("celery==5.7.0",)),
    "airflow": Program(
        requirements=("apache-airflow-task-sdk",),
        alone=(
            "apache-airflow-providers-apache-cassandra==3.10.1",
            "apache-airflow-providers-common-compat",
        ),
    ),
    "datahub": Program(("acryl-datahub[cassandra]==1.7.0.17",)),
    # cassandra-migrate pins each of its requirements, some to releases that cannot be built with
    # today's Python. So install cassandra-migrate alone, and install newer releases of what it
    # requires.
    "cassandra_migrate": Program(
        requirements=("arrow<1", "click<8.2", "future", "PyYAML", "tabulate", "six"),
        alone=("cassandra-migrate==0.3.4",),
    ),
    "flask_cqlalchemy": Program(("flask-cqlalchemy==2.0.0", "flask")),
    "aiocqlengine": Program(("aiocqlengine==0.3.2", "six", "cassandra-driver")),
    "coodie": Program(("coodie==1.9.3", "cassandra-driver")),
    "harlequin": Program(("harlequin-cassandra==0.1.4",)),
    "django": Program(("django-cassandra-engine==1.11.0",), driver="scylla-driver"),
}
