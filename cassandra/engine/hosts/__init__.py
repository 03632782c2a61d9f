"""Hosts: the table of their states, the reactions to events, and reconnecting."""
