"""A hook of MkDocs: the documents of the repository are the pages of its site, where they are.

    make docs

Each file keeps its path: README.md is the start page, docs/architecture.md is
docs/architecture.html. Links between documents are therefore right on the site as they are in the
repository. Other files that documents link to (images, schemas) are copied to the same path. A link
to a file that is not there stays as it is, and `mkdocs build --strict` fails because of it.
"""

import pathlib
import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import reference_pages

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = pathlib.Path(__file__).parents[1]
FOLDERS = ("clusters", "examples", "examples/in-the-wild", "reports", "scenarios", "tests")
"""Folders with a README.md that is a page, beside the documents of the root and of docs."""
STYLE = "docs/site.css"


def _pages() -> tuple[str, ...]:
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    found += [ROOT / folder / "README.md" for folder in FOLDERS]
    return tuple(sorted(path.relative_to(ROOT).as_posix() for path in found))


PAGES = _pages()
"""Paths in the repository, and on the site."""

_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)[^)]*\)")


def on_config(config: "MkDocsConfig") -> "MkDocsConfig":
    """Put the pages of each folder that the navigation names in its place."""
    config.nav = navigation(config.nav)
    return config


def navigation(nav: Any) -> Any:
    """Return a navigation in which `docs/findings/` is the list of that folder's pages."""
    if isinstance(nav, list):
        return [navigation(entry) for entry in nav]
    if isinstance(nav, dict):
        return {title: navigation(entry) for title, entry in nav.items()}
    return _folder(nav) if nav.endswith("/") else nav


def _folder(folder: str) -> list[str]:
    """Return the pages of a folder: first its README.md, then the others by name."""
    pages = [page for page in PAGES if posixpath.dirname(page) + "/" == folder]
    return sorted(pages, key=lambda page: (not page.endswith("/README.md"), _numbers(page)))


def _numbers(page: str) -> list[str | int]:
    """Return a key by which H2 comes before H10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", page)]


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Replace the files of `docs_dir` by the documents, what they link to, and the style."""
    from mkdocs.structure.files import File

    for file in list(files):
        if file.src_dir == config.docs_dir:
            files.remove(file)
    for path in (*PAGES, *linked_files(), STYLE):
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    for path, write in reference_pages.PAGES.items():
        files.append(File.generated(config, path, content=write()))
    return files


def on_page_markdown(_: str, page: "Page", **_rest: Any) -> None:
    """Let the heading be the title of a finding in the menu, and its status no icon there."""
    for key in ("title", "status"):
        page.meta.pop(key, None)


def on_post_build(config: "MkDocsConfig") -> None:
    """Fail if the search of the site does not know a key of a file or a command."""
    from mkdocs.exceptions import PluginError

    index = pathlib.Path(config.site_dir) / "search" / "search_index.json"
    if index.is_file() and (lost := reference_pages.missing(index.read_text(encoding="utf-8"))):
        raise PluginError(f"the search does not find {', '.join(lost)}")


def linked_files() -> list[str]:
    """Return the paths in the repository of the files, other than pages, that pages link to."""
    found = {path for page in PAGES for path in _targets(page)}
    return sorted(path for path in found - {*PAGES} if (ROOT / path).is_file())


def _targets(page: str) -> Iterator[str]:
    for link in _LINK.findall((ROOT / page).read_text(encoding="utf-8")):
        yield posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
