"""Pools: the connections of one session to one host, also to each shard of a ScyllaDB node."""
