"""Configuration of Sphinx."""

import re
import sys
from importlib.metadata import version as installed_version

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

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
# One parameter a line: some constructors have more than fifty.
maximum_signature_line_length = 88


def skips(app: object, what: object, name: str, value: object, skip: bool, options: object) -> bool:
    """Leave out the fields of named tuples, which say nothing but their position."""
    return skip or str(getattr(value, "__doc__", "")).startswith("Alias for field number")


def add_attributes(
    app: object, what: str, name: str, value: object, options: object, lines: list[str]
) -> None:
    """Add the attributes of a class that names another module than the one that it stands in.

    Autodoc looks for their texts in the module that the class names.
    """
    if what != "class" or not isinstance(value, type):
        return
    # Compiled modules have no source to look at.
    modules = [one for one in sys.modules if re.match(r"cassandra\.(?!_accel)", one)]
    for module in modules:
        if module == value.__module__ or vars(sys.modules[module]).get(value.__name__) is not value:
            continue
        found = ModuleAnalyzer.for_module(module).find_attr_docs()
        for (owner, attribute), texts in found.items():
            # Those of a package that only hands the class on have no owner.
            if owner == value.__name__ and not attribute.startswith("_"):
                known = getattr(value, attribute, None)
                shown = [f"   :value: {known!r}"] if isinstance(known, (bool, int, str)) else []
                head = ["", f".. py:attribute:: {attribute}", *shown, ""]
                lines += [*head, *(f"   {text}" for text in texts)]


def show_public_bases(
    app: object, name: str, value: object, options: object, bases: list[type]
) -> None:
    """Show the next public base in the place of one that is not public."""
    for at, base in enumerate(bases):
        if isinstance(base, type):
            bases[at] = next(one for one in base.__mro__ if not one.__name__.startswith("_"))


def setup(app: Sphinx) -> None:
    app.connect("autodoc-process-bases", show_public_bases)
    app.connect("autodoc-skip-member", skips)
    app.connect("autodoc-process-docstring", add_attributes)
