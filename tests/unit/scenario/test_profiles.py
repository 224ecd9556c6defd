"""Cluster profiles: found, overridden, validated like scenarios."""

import pathlib

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


def test_overrides_and_nested_keys(tmp_path: pathlib.Path) -> None:
    overrides = ["storage=disk", "feature_gates.DRAPartitionableDevices=true"]
    profile = profiles.load(local(tmp_path), overrides=overrides)
    assert isinstance(profile, profiles.LocalProfile)
    assert profile.storage == "disk"
    assert profile.feature_gates == {"DRAPartitionableDevices": True}


def test_how_a_profile_was_asked_for_is_not_for_files(tmp_path: pathlib.Path) -> None:
    path = local(tmp_path)
    assert profiles.load(path, overrides=["storage=disk"]).chosen.overrides == ("storage=disk",)
    with pytest.raises(errors.ScenarioError, match="expected no key `chosen`"):
        profiles.load(path, overrides=["chosen.name=x"])


@pytest.mark.parametrize(
    ("scenario", "overrides", "storage"),
    cases.read(__file__, "storage"),
)
def test_data_go_to_disk_if_a_fault_restarts_the_server(
    scenario: str, overrides: list[str], storage: str
) -> None:
    profile = profiles.load("embedded", overrides=overrides)
    suited = profiles.suited(profile, loading.load(scenario).scenario)
    assert isinstance(suited, profiles.EmbeddedProfile)
    assert suited.storage == storage


@pytest.mark.parametrize(
    ("scenario", "overrides", "served"),
    cases.read(__file__, "served"),
)
def test_rules_are_served_if_the_pools_change_by_them(
    scenario: str, overrides: list[str], served: list[str]
) -> None:
    profile = profiles.load("embedded", overrides=overrides)
    suited = profiles.suited(profile, loading.load(scenario).scenario)
    assert isinstance(suited, profiles.EmbeddedProfile)
    assert suited.runtime_config == served


@pytest.mark.parametrize("cluster", ["local", "kind"])
@pytest.mark.parametrize(
    ("scenario", "overrides", "watch_cache"),
    cases.read(__file__, "watch_caches"),
)
def test_watches_resume_from_etcd_if_a_fault_restarts_the_server(
    cluster: str, scenario: str, overrides: list[str], watch_cache: str
) -> None:
    profile = profiles.load(cluster, overrides=overrides)
    suited = profiles.suited(profile, loading.load(scenario).scenario)
    assert isinstance(suited, profiles.LocalProfile | profiles.KindProfile)
    assert suited.watch_cache == watch_cache
