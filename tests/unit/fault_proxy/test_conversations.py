"""The conversations of the text files beside this one, through the proxy."""

import asyncio
import pathlib
from collections.abc import Iterator

import pytest

from tests.unit.fault_proxy import conversations

FILES = ("requests", "responses", "watches", "stale_reads")


def scripts() -> Iterator[object]:
    """The conversations of the files, by their titles."""
    for name in FILES:
        text = pathlib.Path(__file__).with_name(f"{name}.txt").read_text()
        for part in text.split("\n## ")[1:]:
            title, _, script = part.partition("\n")
            lines = [line for line in script.splitlines() if line and line[0] != "#"]
            yield pytest.param("\n".join(lines), id=f"{name}: {title}")


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
@pytest.mark.parametrize("script", list(scripts()))
def test_a_conversation(
    script: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(conversations.Conversation(tmp_path, monkeypatch).play(script))
