"""The shims, installed for real: ``tox -e shims``. They need the network."""
