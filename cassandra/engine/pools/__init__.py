"""A pool keeps one session's connections to one host, and to each shard of a ScyllaDB node."""
