"""Tests that install the shims (``tox -e shims``), for which they need the network."""
