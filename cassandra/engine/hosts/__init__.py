"""Hosts: the table of their states, what follows from each event, and the tries to reach them again."""
