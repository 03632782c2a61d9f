"""Modules from which applications import the connection class of an event loop.

This driver has only asyncio's event loop, so it makes no difference which of these classes an
application uses.
"""
