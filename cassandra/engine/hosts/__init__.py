"""Hosts: the rules for their states, the reactions to events about them, and reconnecting."""
