"""The version of the distribution whose place this one takes; its local part says whose it is."""

import os

from setuptools import setup

setup(version=f"{os.environ.get('TURBOCQL_SHIM_VERSION', '3.30.1')}+turbocql")
