"""Tokens, and what can be wrong with them."""

import ast
import dataclasses
import re
import subprocess
import sys

import pytest

from harness import errors
from harness.explore import output
from harness.explore.search import tokens
from harness.explore.worlds import world_catalogue

pytestmark = pytest.mark.slow

TOKEN = tokens.Token(
    scenario="two-claims-one-device",
    defects=("gather-not-atomic",),
    decisions=(0, 0, 2, 0, 1),
)
FINGERPRINTS = """
from harness.explore.search import tokens
from harness.explore.worlds import world_catalogue

print({name: tokens.fingerprint(name) for name in world_catalogue.WORLDS})
"""


def test_another_process_knows_the_same_worlds() -> None:
    printed = subprocess.run(
        [sys.executable, "-c", FINGERPRINTS], capture_output=True, text=True, check=True
    )
    known = {name: tokens.fingerprint(name) for name in world_catalogue.WORLDS}
    assert ast.literal_eval(printed.stdout) == known


def test_it_survives_being_printed() -> None:
    assert re.fullmatch(r"[\w-]+", str(TOKEN), re.ASCII)
    assert tokens.parse(f" {TOKEN}\n") == TOKEN
    assert TOKEN.deviations == 2
    remedied = dataclasses.replace(TOKEN, remedies=("fence-predecessor",))
    assert tokens.parse(str(remedied)) == remedied
    smaller = dataclasses.replace(TOKEN, sizes=(("binders", 1),))
    assert tokens.parse(str(smaller)) == smaller
    assert smaller.spec.values["binders"] == 1


@pytest.mark.parametrize("place", range(4, len(str(TOKEN)), 7))
def test_any_damage_is_noticed(place: int) -> None:
    text = str(TOKEN)
    other = "A" if text[place] != "A" else "B"
    with pytest.raises(errors.UsageError, match="damaged"):
        tokens.parse(text[:place] + other + text[place + 1 :])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *((text, "expected a token of this version") for text in ("", "fh0-abc", "fh2-abc", "no")),
        (str(TOKEN)[:-9], "copy it completely"),
        (
            str(dataclasses.replace(TOKEN, remedies=("nope",))),
            "expected a known remedy, got 'nope'",
        ),
    ],
)
def test_what_is_wrong_with_it_is_told(text: str, words: str) -> None:
    with pytest.raises(errors.UsageError, match=words):
        tokens.parse(text)


def test_a_scenario_that_changed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    text = str(TOKEN)
    changed = world_catalogue.WORLDS[TOKEN.scenario].with_sizes({"devices": 7})
    monkeypatch.setitem(world_catalogue.WORLDS, TOKEN.scenario, changed)
    with pytest.raises(errors.UsageError, match="has changed since"):
        tokens.parse(text)


def test_a_scenario_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    text = str(TOKEN)
    monkeypatch.delitem(world_catalogue.WORLDS, TOKEN.scenario)
    with pytest.raises(errors.UsageError, match="unknown scenario"):
        tokens.parse(text)


def test_the_reproduction_is_python() -> None:
    text = output.pytest_file(TOKEN, "a device in two claims", ["it happened"])
    compile(text, "test_it.py", "exec")
    assert str(TOKEN) in text
    assert "test_without_the_defects" in text
    correct = dataclasses.replace(TOKEN, defects=())
    assert "test_without" not in output.pytest_file(correct, "a finding", ["it happened"])
