"""From what a program calls to what the engine executes: all that the blocking and the asyncio face
share.
"""
