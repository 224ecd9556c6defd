"""Packages with plug-ins, as pip installs them: modules and a .dist-info folder."""

import os
import pathlib
import sys
from collections.abc import Mapping

import pytest


def install(
    site: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    entry_points: Mapping[str, Mapping[str, str]],
    files: Mapping[str, str] | None = None,
    *,
    version: str = "1.2.0",
) -> None:
    """Install a package for this process and those that it starts.

    `entry_points`: kind -> name -> target; `files`: path -> content.
    """
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text("\n".join(_lines(entry_points)))
    for path, content in (files or {}).items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(content)
    _forget_modules({pathlib.Path(path).parts[0].removesuffix(".py") for path in files or ()})
    monkeypatch.syspath_prepend(site)
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if str(site) not in inherited:
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(site), *inherited])))


def _forget_modules(tops: set[str]) -> None:
    """Remove modules that another test has imported from a package of the same name."""
    for name in [name for name in sys.modules if name.partition(".")[0] in tops]:
        del sys.modules[name]


def _lines(entry_points: Mapping[str, Mapping[str, str]]) -> list[str]:
    groups = (
        [f"[flake_hunt.{kind}]", *(f"{name} = {target}" for name, target in named.items())]
        for kind, named in entry_points.items()
    )
    return [line for group in groups for line in group]
