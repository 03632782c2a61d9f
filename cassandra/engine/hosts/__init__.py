"""Keeps the states of hosts, reacts to events about hosts, and reconnects to lost hosts."""
