"""Code that the blocking and the asyncio API share.

It converts the application's calls to requests of the engine.
"""
