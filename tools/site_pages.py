"""A hook of MkDocs: the documents of the repository are the pages of its site, where they are.

    make docs

Each file keeps its path: README.md is the start page, docs/plug-ins.md is docs/plug-ins.html.
Links between documents are therefore right on the site as they are in the repository. Other
files that documents link to (images, schemas) are copied to the same path. A link to a file that
is not there stays as it is, and `mkdocs build --strict` fails because of it.
"""

import pathlib
import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import reference_pages

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = pathlib.Path(__file__).parents[1]
PAGES = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "clusters/README.md",
    "docs/api.md",
    "docs/comparing.md",
    "docs/explaining.md",
    "docs/exploring.md",
    "docs/installing.md",
    "docs/live-views.md",
    "docs/many-machines.md",
    "docs/parts.md",
    "docs/plug-ins.md",
    "docs/real-kubernetes.md",
    "docs/verdicts.md",
    "docs/your-scheduler.md",
    "examples/README.md",
    "reports/README.md",
    "scenarios/README.md",
)
"""Paths in the repository, and on the site."""
STYLE = "docs/site.css"

_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)[^)]*\)")


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


def linked_files() -> list[str]:
    """Return the paths in the repository of the files, other than pages, that pages link to."""
    found = {path for page in PAGES for path in _targets(page)}
    return sorted(path for path in found - {*PAGES} if (ROOT / path).is_file())


def _targets(page: str) -> Iterator[str]:
    for link in _LINK.findall((ROOT / page).read_text(encoding="utf-8")):
        yield posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
