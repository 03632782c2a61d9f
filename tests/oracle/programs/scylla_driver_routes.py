"""Connects with scylla-driver through proxies, until the parent process sends a line."""

import sys

from cassandra.client_routes import ClientRouteProxy, ClientRoutesConfig
from cassandra.cluster import Cluster

routes = ClientRoutesConfig([ClientRouteProxy("c1")])
cluster = Cluster(sys.argv[1].split(","), port=int(sys.argv[2]), client_routes_config=routes)
session = cluster.connect()
print("ready", flush=True)
sys.stdin.readline()
cluster.shutdown()
