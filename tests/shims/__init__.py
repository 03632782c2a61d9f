"""Tests that install the shims: ``tox -e shims``. They need the network."""
