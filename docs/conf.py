"""Configuration of Sphinx."""

import html
import re
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

project = "turbocql"
author = "The turbocql authors"
release = installed_version("turbocql")
copyright = author
extensions = ["sphinx.ext.autodoc", "sphinx.ext.viewcode", "sphinx_copybutton"]
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = f"{project} {release}"
html_logo = html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["turbocql.css"]
html_search_scorer = str(Path(__file__).with_name("_static") / "scorer.js")
# No edit links before the project has an address of its own.
html_theme_options = {"sidebar_hide_name": True, "navigation_with_keys": True}
html_show_sphinx = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
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


def show_defaults(
    app: object, what: str, name: str, value: object, options: object, given: str, returned: str
) -> tuple[str, str] | None:
    """Show the default of a setting that is an attribute of its class, in the place of NOT_SET."""
    if what != "class" or not given or "=NOT_SET" not in given:
        return None

    def default(found: re.Match[str]) -> str:
        known = getattr(value, found[1], ...)
        plain = known is None or isinstance(known, (bool, int, float, str))
        return f"{found[1]}={known!r}" if plain else f"{found[1]}=..."

    return re.sub(r"(\w+)=NOT_SET", default, given), returned


class Folded(SphinxDirective):
    """Shows its content when the reader unfolds it: ``.. folded:: Its title``."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the nodes."""
        head = f'<details class="folded"><summary>{html.escape(self.arguments[0])}</summary>'
        return [
            nodes.raw("", head, format="html"),
            *self.parse_content_to_nodes(),
            nodes.raw("", "</details>", format="html"),
        ]


def setup(app: Sphinx) -> None:
    app.add_directive("folded", Folded)
    app.connect("autodoc-process-signature", show_defaults)
    app.connect("autodoc-process-bases", show_public_bases)
    app.connect("autodoc-skip-member", skips)
    app.connect("autodoc-process-docstring", add_attributes)
