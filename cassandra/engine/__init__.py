"""The engine: connections, pools, requests and the control connection. It runs on one asyncio loop.

For the blocking API, `cassandra.engine.loop` runs that loop in a thread. User threads pass their
requests to the loop through an inbox. The one exception: a user thread may write to and read from a
socket itself while no other request is in flight (see `cassandra.engine.stream_table`).
"""
