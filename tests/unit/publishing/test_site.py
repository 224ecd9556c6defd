"""The documentation site has every document, and a dead link stops it."""

import importlib.util
import pathlib
import shutil
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest
import yaml

ROOT = pathlib.Path(__file__).parents[3]
CONFIGURATION = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
READ_IN_THE_CHECKOUT = {"bench", "changes"}
"""Folders of the checkout whose documents are no pages."""


def hook(root: pathlib.Path = ROOT) -> ModuleType:
    """The hook of a checkout; MkDocs, too, lets it import what lies beside it."""
    if str(root / "tools") not in sys.path:
        sys.path.append(str(root / "tools"))
    spec = importlib.util.spec_from_file_location("site_pages", root / "tools/site_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def leaves(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav
    return [page for part in parts for page in leaves(part)]


def in_navigation() -> list[str]:
    return leaves(hook().navigation(CONFIGURATION["nav"]))


def test_every_page_is_in_the_navigation_once() -> None:
    module = hook()
    assert sorted(in_navigation()) == sorted((*module.PAGES, *module.reference_pages.PAGES))


def test_every_document_of_a_folder_that_people_use_is_a_page() -> None:
    folders = [*ROOT.glob("*.md"), *ROOT.glob("[a-z]*/*.md"), *(ROOT / "docs").rglob("*.md")]
    folders += (ROOT / "examples").glob("*/*.md")
    found = {path.relative_to(ROOT) for path in folders}
    there = {str(path) for path in found if path.parts[0] not in READ_IN_THE_CHECKOUT}
    assert there == set(hook().PAGES)


@pytest.fixture
def small_checkout(tmp_path: pathlib.Path) -> pathlib.Path:
    """A checkout with all pages, and without the theme and the Python API, which take seconds."""
    pytest.importorskip("mkdocs", reason="the extra `docs` is not installed: make docs builds it")
    module = hook()
    tools = [f"tools/{name}.py" for name in ("site_pages", "reference_pages", "catalogue_pages")]
    for path in (*module.PAGES, *module.linked_files(), module.STYLE, *tools):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    (tmp_path / "docs/reference/python-api.md").write_text("# Python API\n")
    small: dict[str, Any] = CONFIGURATION | {"theme": {"name": "mkdocs"}, "plugins": []}
    small["markdown_extensions"] = ["tables", "toc", "fenced_code"]
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(small))
    return tmp_path


def build(folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )


def test_links_between_documents_are_links_between_pages(small_checkout: pathlib.Path) -> None:
    done = build(small_checkout)
    assert done.returncode == 0, done.stderr
    start = (small_checkout / "build/site/index.html").read_text()
    assert 'href="docs/findings/index.html"' in start
    assert (small_checkout / "build/site/docs/report.png").is_file()


@pytest.mark.parametrize("link", ["clusters/none.toml", "clusters/README.md#no-such-heading"])
def test_a_dead_link_stops_the_build(small_checkout: pathlib.Path, link: str) -> None:
    with (small_checkout / "README.md").open("a") as page:
        page.write(f"\n[dead]({link})\n")
    done = build(small_checkout)
    assert done.returncode == 1
    assert link.partition("#")[0] in done.stderr
