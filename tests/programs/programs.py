"""The programs that are tried, and what is installed for each."""

from __future__ import annotations

from tests.programs.environments import Program

PROGRAMS = {
    "cqlsh": Program(("cqlsh==6.2.2",)),
    "opentelemetry": Program(
        ("opentelemetry-instrumentation-cassandra==0.66b1", "opentelemetry-sdk"),
    ),
    "ddtrace": Program(("ddtrace==3.19.9",)),
    "newrelic": Program(("newrelic==14.1.0",)),
    "instana": Program(("instana==3.20.0",)),
    "elastic_apm": Program(
        ("elastic-apm==6.26.2",),
        # A bound statement says its `query_string` here, and so the span has a better name.
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
    # It pins each package that it requires, also releases that no Python of today builds.
    "cassandra_migrate": Program(
        requirements=("arrow<1", "click<8.2", "future", "PyYAML", "tabulate", "six"),
        alone=("cassandra-migrate==0.3.4",),
    ),
    "flask_cqlalchemy": Program(("flask-cqlalchemy==2.0.0", "flask")),
    "coodie": Program(("coodie==1.9.3", "cassandra-driver")),
    "harlequin": Program(("harlequin-cassandra==0.1.4",)),
    "django": Program(("django-cassandra-engine==1.11.0",), driver="scylla-driver"),
}
