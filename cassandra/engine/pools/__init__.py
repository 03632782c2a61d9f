"""Pools: the connections of one session to one host, and to each shard of a ScyllaDB node."""
