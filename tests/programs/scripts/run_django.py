"""Use django-cassandra-engine: models, migrations to the schema, serializers, sessions."""

from __future__ import annotations

import sys
import types
import uuid

import django
from common import HOST, KEYSPACE, PORT, make_cluster
from django.apps import AppConfig, apps
from django.conf import settings
from django.core.management import call_command

settings.configure(
    INSTALLED_APPS=["django_cassandra_engine", "django_cassandra_engine.sessions", "people.People"],
    DATABASES={
        "default": {
            "ENGINE": "django_cassandra_engine",
            "NAME": KEYSPACE,
            "HOST": HOST,
            "PORT": PORT,
            "OPTIONS": {
                "replication": {"strategy_class": "SimpleStrategy", "replication_factor": 1},
                "connection": {"retry_connect": True, "port": PORT},
                "session": {"default_timeout": 20},
            },
        }
    },
    SESSION_ENGINE="django_cassandra_engine.sessions.backends.db",
    SECRET_KEY="tried",
    USE_TZ=True,
)

# A Django application must be in a package. Create the package `people` in memory, without files.
people = types.ModuleType("people")
people.__path__ = []
people.models_module = None
sys.modules["people"] = people


class People(AppConfig):
    name = label = "people"
    path = "/"

    def import_models(self) -> None:
        self.models = self.apps.all_models[self.label]


people.People = People


def models():
    """Define and return the model; Django must be set up before this call."""
    from django_cassandra_engine.models import DjangoCassandraModel

    from cassandra.cqlengine import columns

    class Person(DjangoCassandraModel):
        __module__ = "people.models"
        id = columns.UUID(primary_key=True)
        day = columns.Integer(primary_key=True, clustering_order="DESC")
        name = columns.Text(index=True)
        tags = columns.Set(columns.Text)

        class Meta:
            app_label = "people"
            get_pk_field = "id"

    return Person


def main() -> None:
    """Let Django create the tables, use its models and its cursor, and print what they return."""
    with make_cluster() as cluster:
        cluster.connect().execute(f"DROP KEYSPACE IF EXISTS {KEYSPACE}")
    django.setup()
    person = models()
    models_of_app = types.ModuleType("people.models")
    models_of_app.Person = person
    apps.get_app_config("people").models_module = models_of_app
    call_command("sync_cassandra", verbosity=0)
    from django.db import connection

    print(connection.vendor, sorted(connection.introspection.get_table_list(connection.cursor())))
    key = uuid.UUID(int=7)
    for day in range(4):
        person.objects.create(id=key, day=day, name=f"n{day % 2}", tags={"a", str(day)})
    print([(row.day, row.name) for row in person.objects.filter(id=key)])
    instance = person.objects.get(id=key, day=2)
    instance.name = "changed"
    instance.save()
    stored = person.objects.get(id=key, day=2)
    print(list(stored.keys()), stored.id, stored.day, stored.name, sorted(stored.tags))
    print(person.objects.filter(id=key, day__gt=1).count(), person._meta.get_field("day").db_type)
    person.objects.filter(id=key, day=3).delete()
    print(list(person.objects.filter(id=key).values_list("day", flat=True)))
    with connection.cursor() as cursor:
        cursor.execute("SELECT day, name FROM person WHERE id = %s", (key,))
        print(cursor.fetchmany(9))


main()
