"""Hosts: the rules for their states, the reactions to events, and reconnecting to lost hosts."""
