"""Sets the shim's version: that of the distribution that it replaces, with the suffix +turbocql."""

import os

from setuptools import setup

setup(version=f"{os.environ.get('TURBOCQL_SHIM_VERSION', '3.30.1')}+turbocql")
