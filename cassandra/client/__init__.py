"""Shared by the blocking and the asyncio API: turns the application's calls into requests of the
engine.
"""
