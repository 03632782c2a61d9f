"""Modules from which applications import the connection class of an event loop.

This driver has only asyncio's event loop, so all of these classes mean the same.
"""
