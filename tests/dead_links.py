"""Finds dead links within the built documentation: ``python -m tests.dead_links FOLDER``.

The target of each link to a page, file or heading must exist. Links to other sites must begin with
https and lead to a site in `ELSEWHERE`. The program does not send requests to these sites.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Pages may link to these other sites.
ELSEWHERE = {
    "cassandra.apache.org",
    "docs.python.org",
    "github.com",
    "opentelemetry.io",
    "pradyunsg.me",
    "www.sphinx-doc.org",
}


class Page(HTMLParser):
    """Collects the links and the anchors of a page.

    Anchors are the IDs and names to which links may lead.
    """

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the anchors and links of one tag.

        `HTMLParser` calls this method for each tag.
        """
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ("href", "src") and tag in ("a", "img", "link", "script"):
                self.links.append(value)


def read(folder: Path) -> dict[Path, Page]:
    """Parse the pages in `folder` and its subfolders, except Sphinx's pages of source code.

    :returns: the parsed pages, by their resolved paths.
    """
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        if "_modules" in path.relative_to(folder).parts:
            continue
        page = pages[path.resolve()] = Page()
        page.feed(path.read_text())
    return pages


def fault_of(link: str, path: Path, pages: dict[Path, Page]) -> str | None:
    """Return the fault of a link of the page at `path`; None if the link is correct."""
    url = urlsplit(link)
    if url.scheme in ("http", "https"):
        if url.scheme == "http":
            return "http"
        return None if url.hostname in ELSEWHERE else "a site that is not in ELSEWHERE"
    if url.scheme:
        return None if url.scheme in ("mailto", "data") else f"scheme {url.scheme}"
    # The link stays within the documentation. It leads to a page, or to an anchor of this page.
    target = (path.parent / unquote(url.path)).resolve() if url.path else path
    if target.is_dir():
        target = target / "index.html"
    if not target.exists():
        return "no such file"
    if url.fragment and target in pages and unquote(url.fragment) not in pages[target].anchors:
        return "no such place in the page"
    return None


def dead_links(folder: Path) -> list[str]:
    """Return a line "page: link: fault" for each dead link of the pages in `folder`."""
    pages = read(folder)
    faults = []
    for path, page in pages.items():
        # Unlike a set, a dictionary keeps the order of the page.
        links_without_duplicates = dict.fromkeys(page.links)
        for link in links_without_duplicates:
            fault = fault_of(link, path, pages)
            if fault is not None:
                faults.append(f"{path.relative_to(folder.resolve())}: {link}: {fault}")
    return faults


def main() -> int:
    """Print the dead links of the folder on the command line; return 1 if there are any."""
    (folder,) = map(Path, sys.argv[1:])
    faults = dead_links(folder)
    print("\n".join(faults) or "no dead link")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
