"""Other projects' drivers run against the fake ScyllaDB cluster, and so check the fake.

``python tests/oracle`` (``tox -e oracle``) installs each driver in its own environment.
"""
