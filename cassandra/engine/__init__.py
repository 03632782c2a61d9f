"""The engine: connections, pools, requests and the control connection. It runs on one asyncio loop.

For the blocking API, `cassandra.engine.loop` runs that loop in a thread. User threads pass their
requests to it through an inbox; see `cassandra.engine.stream_table` for the one exception.
"""
