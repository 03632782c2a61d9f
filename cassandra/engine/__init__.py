"""The engine: connections, pools, requests and the control connection, confined to one asyncio
loop.

Only `cassandra.engine.loop` deals with threads: it runs the engine's thread and the inbox through
which user threads reach it.
"""
