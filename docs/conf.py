"""Configuration of Sphinx."""

from importlib.metadata import version as installed_version

project = "turbocql"
author = "The turbocql authors"
release = installed_version("turbocql")
extensions = ["sphinx.ext.autodoc"]
html_theme = "alabaster"
exclude_patterns = ["_build"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
# What asyncio says of its protocols' methods is not ours, and refers to its own documentation.
autodoc_inherit_docstrings = False
# Some names are public in two modules, as in today's drivers; a reference may go to either.
suppress_warnings = ["ref.python"]
