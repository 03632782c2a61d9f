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
# The docstrings of asyncio's protocol classes refer to asyncio's documentation, so do not show them
# for our subclasses.
autodoc_inherit_docstrings = False
# Some names are public in two modules, as in cassandra-driver; a reference may go to either.
suppress_warnings = ["ref.python"]
# One parameter a line: some constructors have more than fifty.
maximum_signature_line_length = 88


def skips(app: object, what: object, name: str, value: object, skip: bool, options: object) -> bool:
    """Leave out the fields of named tuples, which say nothing but their position."""
    return skip or str(getattr(value, "__doc__", "")).startswith("Alias for field number")


def add_attributes(
    app: object, what: str, name: str, value: object, options: object, lines: list[str]
) -> None:
    """Add the attributes of a class whose `__module__` is not the module that defines it.

    Autodoc looks for their docstrings in `__module__`, and finds none there.
    """
    if what != "class" or not isinstance(value, type):
        return
    # Compiled modules have no source to look at.
    modules = [name for name in sys.modules if re.match(r"cassandra\.(?!_accel)", name)]
    for module in modules:
        if module == value.__module__ or vars(sys.modules[module]).get(value.__name__) is not value:
            continue
        docstrings = ModuleAnalyzer.for_module(module).find_attr_docs()
        for (owner, attribute), texts in docstrings.items():
            # In a package that only re-exports the class, the attributes have no owner.
            if owner == value.__name__ and not attribute.startswith("_"):
                default = getattr(value, attribute, None)
                is_short = isinstance(default, (bool, int, str))
                options_of_entry = [f"   :value: {default!r}"] if is_short else []
                head = ["", f".. py:attribute:: {attribute}", *options_of_entry, ""]
                lines += [*head, *(f"   {text}" for text in texts)]


def show_public_bases(
    app: object, name: str, value: object, options: object, bases: list[type]
) -> None:
    """Replace each private base class by its next public base class."""
    for position, base in enumerate(bases):
        if isinstance(base, type):
            bases[position] = next(
                parent for parent in base.__mro__ if not parent.__name__.startswith("_")
            )


def show_defaults(
    app: object,
    what: str,
    name: str,
    value: object,
    options: object,
    parameters: str,
    returned: str,
) -> tuple[str, str] | None:
    """Replace NOT_SET in a signature by the default, the class attribute of that name."""
    if not parameters:
        return None
    # Hide `**_unknown`: functions only have it to raise a helpful error for a misspelt option.
    parameters = re.sub(r"(, )?\*\*_unknown(: [\w.]+)?", "", parameters)
    if what != "class":
        return parameters.replace("=NOT_SET", "=..."), returned
    if parameters.count("=") > MAX_PARAMETERS:
        # The page lists the settings with their defaults below: nobody reads sixty in a row.
        first_two = parameters.strip("()").replace("=NOT_SET", "=...").split(", ")[:2]
        return f"({', '.join(first_two)}, **settings)", None

    def with_default(match: re.Match[str]) -> str:
        default = getattr(value, match[1], ...)
        is_short = default is None or isinstance(default, (bool, int, float, str))
        return f"{match[1]}={default!r}" if is_short else f"{match[1]}=..."

    return re.sub(r"(\w+)=NOT_SET", with_default, parameters), returned


# If a class has more parameters, its signature only shows the first two.
MAX_PARAMETERS = 20


def without_overloads(analyze: Callable[[ModuleAnalyzer], None]) -> Callable[[Any], None]:
    """Return a replacement for `ModuleAnalyzer.analyze` that drops overloads, so that each function
    is shown with a single signature.
    """

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
    sentences = {}
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
        if not name.startswith("_") and name not in sentences and not is_plain(value) and text:
            sentence = re.split(r"(?<=[.;:])\s", text)[0].rstrip(";:")
            # Names in the sentence are relative to another page, so do not link them.
            sentences[name] = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", sentence)
    return sorted(sentences.items())


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
