"""Use these features of Flask-CQLAlchemy: models of cqlengine in an application of Flask."""

from __future__ import annotations

import uuid

from common import HOST, KEYSPACE, PORT, make_cluster, new_keyspace
from flask import Flask, jsonify
from flask_cqlalchemy import CQLAlchemy

app = Flask("tried")
app.config["CASSANDRA_HOSTS"] = [HOST]
app.config["CASSANDRA_KEYSPACE"] = KEYSPACE
app.config["CASSANDRA_SETUP_KWARGS"] = {"protocol_version": 4, "port": PORT}

with make_cluster() as _cluster:
    new_keyspace(_cluster.connect())

db = CQLAlchemy(app)


class Address(db.UserType):
    street = db.columns.Text()
    number = db.columns.Integer()


class Person(db.Model):
    id = db.columns.UUID(primary_key=True)
    day = db.columns.Integer(primary_key=True, clustering_order="desc")
    name = db.columns.Text(index=True)
    tags = db.columns.Set(db.columns.Text)
    numbers = db.columns.Map(db.columns.Text, db.columns.Integer)
    home = db.columns.UserDefinedType(Address)


@app.route("/people/<name>")
def people(name: str):
    rows = Person.objects(name=name).allow_filtering()
    return jsonify(sorted((row.day, row.name, sorted(row.tags)) for row in rows))


def main() -> None:
    """Create, change, find and delete rows in a Flask app, and read rows by the app's HTTP API."""
    with app.app_context():
        db.sync_db()
        key = uuid.UUID(int=5)
        for day in range(4):
            Person.create(
                id=key, day=day, name=f"n{day % 2}", tags={"a", f"t{day}"}, numbers={"x": day},
                home=Address(street="Main", number=day),
            )  # fmt: skip
        print([row.day for row in Person.objects(id=key)])
        Person.get(id=key, day=2).update(name="changed")
        Person.objects(id=key, day=2).update(tags__add={"more"}, numbers__update={"y": 7})
        person = Person.get(id=key, day=2)
        print(person.name, sorted(person.tags), dict(person.numbers), person.home.number)
        print(Person.objects(id=key, day__gte=1).count(), Person.get(id=key, day=3).home.street)
        Person.objects(id=key, day=3).delete()
        try:
            Person.get(id=key, day=3)
        except Person.DoesNotExist as error:
            print(type(error).__name__)
        print(list(Person.objects(id=key).values_list("day", "name")))
        with app.test_client() as client:
            print(client.get("/people/n1").get_json(), client.get("/people/none").get_json())


main()
