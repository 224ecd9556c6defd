"""Cluster profiles: found, overridden, validated like scenarios."""

import pathlib
from typing import Any

import pytest

from harness import errors
from harness.scenario import loading, profiles
from tests.support import cases


def test_every_shipped_profile_loads_and_is_named_as_its_file() -> None:
    for name in profiles.SHELF.names():
        profile = profiles.load(name)
        assert profile.name == name
        assert profile.provider in profiles.SHELF.names()
        assert profiles.restore(profile.model_dump(mode="json")) == profile


def local(tmp_path: pathlib.Path, text: str = "") -> str:
    path = tmp_path / "mine.toml"
    path.write_text(f'schema_version = 1\nprovider = "local"\nname = "mine"\ntitle = "t"\n{text}')
    return str(path)


def test_how_a_profile_was_asked_for_is_not_for_files(tmp_path: pathlib.Path) -> None:
    path = local(tmp_path)
    assert profiles.load(path, overrides=["storage=disk"]).chosen.overrides == ("storage=disk",)
    with pytest.raises(errors.ScenarioError, match="expected no key `chosen`"):
        profiles.load(path, overrides=["chosen.name=x"])


@pytest.mark.parametrize("case", cases.read(__file__, "suited"), ids=str)
def test_a_profile_is_suited_to_its_scenario(case: dict[str, Any]) -> None:
    """Data go to disk, and watches resume from etcd, if a fault restarts the server; rules are
    served if the pools change by them."""
    profile = profiles.load(case["cluster"], overrides=case.get("set", ()))
    suited = profiles.suited(profile, loading.load(case["scenario"]).scenario)
    assert {key: getattr(suited, key) for key in case["has"]} == case["has"]
