"""Logs are files."""

import pathlib
from collections.abc import Callable

import pytest

from harness.log_analysis import analyses, analysis_results

Analyse = Callable[..., analysis_results.Analysis]


@pytest.fixture
def analyse(tmp_path: pathlib.Path) -> Analyse:
    """Analyse texts as the files of one call."""

    def analyse(*texts: str | bytes, names: tuple[str, ...] = ()) -> analysis_results.Analysis:
        paths = []
        for number, text in enumerate(texts):
            path = tmp_path / (names[number] if names else f"scheduler.log.{number}")
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            paths.append(str(path))
        return analyses.analyse(paths)

    return analyse
