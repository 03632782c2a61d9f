"""Import paths of programs that choose an event loop: this driver has one, asyncio's, and each of
these names means it.
"""
