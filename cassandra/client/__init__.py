"""Code that the blocking and the asyncio API share. It turns the application's calls into requests
of the engine.
"""
