"""Hosts: the table of their states, the reactions to events, and the tries to reach them again."""
