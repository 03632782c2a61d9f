"""The engine: connections, pools, requests and the control connection, confined to one asyncio
loop.

Nothing here knows of threads but `loop` (the engine's own thread and the inbox that user threads
reach it through).
"""
