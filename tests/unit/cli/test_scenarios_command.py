"""`flake-hunt scenarios`."""

import functools
import json
from typing import Any

import pytest

from harness.cli import document_schemas
from harness.scenario import loading


def test_all_are_listed_with_what_is_expected(
    flake_hunt: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "load", functools.cache(loading.load))
    code, out, _ = flake_hunt("scenarios", "--output", "json")
    rows = {row["name"]: row for row in json.loads(out)["scenarios"]}
    assert code == 0
    assert list(rows) == loading.SHELF.names()
    assert (rows["answer-lost"]["hazard"], rows["pod-churn"]["load_s"]) == ("H1", 5.0)
    assert "gather-not-atomic" in rows["pod-churn"]["controls"]
    listed = flake_hunt("scenarios")[1]
    assert [name for name in rows if name not in listed] == []


@pytest.mark.parametrize("group", ["regress", "confirm"])
def test_a_group_is_a_table_and_a_name_shows_the_file(flake_hunt: Any, group: str) -> None:
    names = loading.expanded([group])
    code, out, _ = flake_hunt("scenarios", group)
    assert (code, all(name in out for name in names)) == (0, True)
    code, out, _ = flake_hunt("scenarios", names[0])
    loaded = loading.load(names[0])
    assert code == 0
    assert out.startswith(f"{names[0]}: {loaded.scenario.title} (")
    assert loaded.text.strip() in out


def test_the_schemas_are_for_editors(flake_hunt: Any) -> None:
    code, out, _ = flake_hunt("scenarios", "--schema", "cluster")
    assert (code, json.loads(out)["title"]) == (0, "Flake Hunt: cluster profile")
    for kind in document_schemas.TYPES:
        assert json.loads(flake_hunt("scenarios", "--schema", kind)[1])["title"]
