"""Configuration of Sphinx."""

import html
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

from cassandra import policies
from cassandra.client.settings.table import TASKS

project = "turbocql"
author = "The turbocql authors"
release = installed_version("turbocql")
copyright = author
extensions = ["sphinx.ext.autodoc", "sphinx.ext.viewcode", "sphinx_copybutton"]
exclude_patterns = ["_build"]
# A name in single backticks is a link to its entry, if it has one.
default_role = "py:obj"
if os.environ.get("TURBOCQL_INTERSPHINX"):
    # Other sites' inventories need the network; builds without it have no links to them.
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "pandas": ("https://pandas.pydata.org/docs", None),
        "pyarrow": ("https://arrow.apache.org/docs", None),
    }

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
    if not given:
        return None
    # What the calls take for the error's sake alone.
    given = re.sub(r"(, )?\*\*_unknown(: [\w.]+)?", "", given)
    if what != "class":
        return given.replace("=NOT_SET", "=..."), returned
    if given.count("=") > MOST_SHOWN:
        # Its settings are listed below, with their defaults: nobody reads sixty of them in a row.
        first = given.strip("()").split(", ")[:2]
        return f"({', '.join(one.replace('=NOT_SET', '=...') for one in first)}, **settings)", None

    def default(found: re.Match[str]) -> str:
        known = getattr(value, found[1], ...)
        plain = known is None or isinstance(known, (bool, int, float, str))
        return f"{found[1]}={known!r}" if plain else f"{found[1]}=..."

    return re.sub(r"(\w+)=NOT_SET", default, given), returned


# Parameters of a class beyond which its signature is cut short.
MOST_SHOWN = 20


def without_overloads(analyze: Callable[[ModuleAnalyzer], None]) -> Callable[[Any], None]:
    """Return a reader of sources that leaves out overloads: one signature comes before the text."""

    def analyze_alone(analyzer: ModuleAnalyzer) -> None:
        analyze(analyzer)
        analyzer.overloads.clear()

    return analyze_alone


ModuleAnalyzer.analyze = without_overloads(ModuleAnalyzer.analyze)


class Summary(SphinxDirective):
    """Shows the members of a class or module in a table, each with its first sentence."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the nodes."""
        path = self.arguments[0]
        module_name, _, class_name = path.rpartition(".")
        module = importlib.import_module(path if class_name.islower() else module_name)
        holder = module if class_name.islower() else getattr(module, class_name)
        rows = [f"   * - `{name} <{path}.{name}>`\n     - {text}" for name, text in members(holder)]
        text = "\n".join([".. list-table::", "   :widths: 30 70", "   :class: summary", "", *rows])
        return list(self.parse_text_to_nodes(text))


class SettingsByTask(SphinxDirective):
    """Shows the settings of a cluster in a table, by the task that each is for."""

    def run(self) -> list[nodes.Node]:
        """Return the nodes."""
        head = [".. list-table::", "   :header-rows: 1", "   :widths: 26 74", ""]
        rows = [("Task", "Settings")] + [
            (task, ", ".join(f"``{name}``" for name in names.split()))
            for task, names in TASKS.items()
        ]
        text = "\n".join([*head, *(f"   * - {task}\n     - {names}" for task, names in rows)])
        return list(self.parse_text_to_nodes(text))


def members(holder: object) -> list[tuple[str, str]]:
    """Return the names of a class's or module's public members, with their first sentences."""
    if isinstance(holder, type):
        names = [
            name
            for base in holder.__mro__
            if base.__module__.startswith("cassandra")
            for name in vars(base)
        ]
    else:
        names = list(vars(holder)["__all__"])
    found = {}
    for name in names:
        static = inspect.getattr_static(holder, name, None)
        if isinstance(holder, type) and not (
            inspect.isroutine(static) or isinstance(static, (property, classmethod))
        ):
            continue  # settings are in a table of their own
        value = getattr(holder, name, None)
        if not isinstance(holder, type) and not isinstance(value, type) and not callable(value):
            continue
        text = (inspect.getdoc(value) or "").partition("\n\n")[0].replace("\n", " ")
        if not name.startswith("_") and name not in found and not is_plain(value) and text:
            sentence = re.split(r"(?<=[.;:])\s", text)[0].rstrip(";:")
            # Other names of a docstring are of another place.
            found[name] = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", sentence)
    return sorted(found.items())


def is_plain(value: object) -> bool:
    """Return True for values whose docstring is that of their type."""
    return value is None or isinstance(value, (bool, int, float, str, tuple, list, dict, set))


def write_index_for_models(app: Sphinx, error: Exception | None) -> None:
    """Write ``llms.txt``: each page with its title and the address of its source."""
    if error is not None or app.builder.format != "html":
        return
    lines = [
        f"# {project} {release}",
        "",
        "> A Python driver for Apache Cassandra and ScyllaDB.",
        "",
    ]
    for page in sorted(app.env.found_docs):
        title = app.env.titles[page].astext()
        lines.append(f"- [{title}](_sources/{page}.rst.txt)")
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines) + "\n")


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
    app.add_directive("settings-by-task", SettingsByTask)
    app.add_directive("summary", Summary)
    # automodule sees the attributes of a module only, not the names that are imported at their
    # first use.
    for name in policies.__all__:
        getattr(policies, name)
    app.connect("build-finished", write_index_for_models)
    app.connect("autodoc-process-signature", show_defaults)
    app.connect("autodoc-process-bases", show_public_bases)
    app.connect("autodoc-skip-member", skips)
    app.connect("autodoc-process-docstring", add_attributes)
