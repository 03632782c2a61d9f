"""Code that the blocking and the asyncio API share.

The modules check the settings and arguments of the application, and convert its calls to requests
of the engine (`cassandra.engine`).
"""
