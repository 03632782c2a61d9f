"""Prepares statements.

A statement is prepared when the application calls `prepare`, when the application first executes
a CQL string with bind markers, and again on hosts that have forgotten the statement.
"""
