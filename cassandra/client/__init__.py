"""From a program's calls to the engine's requests: all that the blocking and the asyncio face
share.
"""
