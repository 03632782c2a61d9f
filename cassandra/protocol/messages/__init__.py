"""Requests and responses of the native protocol."""
