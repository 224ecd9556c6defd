"""The conversations of the text files beside this one, through the proxy."""

import asyncio
import pathlib

import pytest

from tests.support import text_tables
from tests.unit.fault_proxy import conversations

SCRIPTS = [
    script
    for name in ("requests", "responses", "watches", "stale_reads")
    for script in text_tables.scripts(__file__, f"{name}.txt", prefix=f"{name}: ")
]


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
@pytest.mark.parametrize("steps", SCRIPTS)
def test_a_conversation(
    steps: list[str], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(conversations.Conversation(tmp_path, monkeypatch).play(steps))
