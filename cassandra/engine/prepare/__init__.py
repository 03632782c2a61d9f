"""Prepares statements: when the application calls `prepare`, when it first executes a CQL string
with bind markers, and again on hosts that have forgotten a statement.
"""
