"""kind's configuration of every profile: by its published types, and what the patches say."""

import json
import pathlib

import jsonschema
import pytest
import yaml

from harness.cluster import control_plane_settings
from harness.cluster.kind import kind_config
from harness.scenario import profiles

ENGINES = pathlib.Path(__file__).parents[3] / "stand_ins"
SCHEMA = json.loads((ENGINES / "kind-config-v1alpha4.schema.json").read_text())
POLICY = pathlib.Path("/run/of mine/audit-policy.yaml")
KIND_PROFILES = [name for name in profiles.SHELF.names() if name.startswith("kind")]


def kind_profile(name: str, *overrides: str) -> profiles.KindProfile:
    made = profiles.load(name, overrides=overrides)
    assert isinstance(made, profiles.KindProfile)
    return made


def document(
    profile: profiles.KindProfile,
    policy: pathlib.Path | None = POLICY,
    cgroup_version: str = "2",
) -> object:
    choices = kind_config.Choices(
        image=profile.image, audit_policy=policy, cgroup_version=cgroup_version
    )
    made = yaml.safe_load(kind_config.text(profile, choices))
    jsonschema.Draft202012Validator(SCHEMA).validate(made)
    return made


@pytest.mark.parametrize("name", KIND_PROFILES)
@pytest.mark.parametrize("claim_controller", ["false", "true"])
def test_the_configuration_of_every_profile_has_kinds_types(
    name: str, claim_controller: str
) -> None:
    profile = kind_profile(name, f"claim_controller={claim_controller}")
    assert document(profile)
    assert document(profile, policy=None)


def test_there_is_a_profile_for_each_supported_version() -> None:
    assert set(KIND_PROFILES) == {"kind", "kind-1.34", "kind-1.35", "kind-1.36", "kind-1.37"}
    for name in KIND_PROFILES[1:]:
        profile = kind_profile(name)
        assert profile.kubernetes.startswith(f"v{name.removeprefix('kind-')}.")
        assert profile.image.startswith(f"kindest/node:{profile.kubernetes}@sha256:")
    assert len({kind_profile(name).image for name in KIND_PROFILES}) == 4


def test_the_profile_kind_is_the_newest() -> None:
    newest = kind_profile("kind-1.37").model_dump(exclude={"name", "title", "chosen"})
    assert kind_profile("kind").model_dump(exclude={"name", "title", "chosen"}) == newest


def test_no_patch_names_a_version() -> None:
    for name in KIND_PROFILES:
        made = document(kind_profile(name), cgroup_version="1")
        for patch in made["nodes"][0]["kubeadmConfigPatches"]:  # type: ignore[index]
            assert "apiVersion" not in yaml.safe_load(patch)


def patch_of(profile: profiles.KindProfile, policy: pathlib.Path | None = POLICY) -> dict:
    made = document(profile, policy)
    return yaml.safe_load(made["nodes"][0]["kubeadmConfigPatches"][0])  # type: ignore[index]


API_SERVER, MANAGER = "apiServer", "controllerManager"
LIMITED = {"enable-priority-and-fairness": "false", "max-requests-inflight": "3000"}
FAST = {"kube-api-qps": "1000", "kube-api-burst": "2000"}
"""The default of 20 requests a second makes four allocations a second."""


@pytest.mark.parametrize(
    ("part", "overrides", "flags", "absent"),
    [
        (API_SERVER, [], LIMITED, "watch-cache"),
        (API_SERVER, ["watch_cache=off"], {"watch-cache": "false"}, "nothing"),
        (API_SERVER, ["priority_and_fairness=true"], {}, "inflight"),
        (API_SERVER, ["priority_and_fairness=true"], {}, "fairness"),
        (MANAGER, [], {"controllers": kind_config.WITHOUT_CLAIM_CONTROLLER}, "kube-api"),
        (MANAGER, ["claim_controller=true"], FAST, "controllers"),
    ],
)
def test_flags_that_a_run_needs(
    part: str, overrides: list[str], flags: dict[str, str], absent: str
) -> None:
    found = patch_of(kind_profile("kind", *overrides))[part]["extraArgs"]
    assert flags.items() <= found.items()
    assert not [name for name in found if absent in name]
    for name, value in found.items():
        assert isinstance(value, str), f"{name}: kubeadm refuses a YAML boolean or number"


@pytest.mark.parametrize("name", KIND_PROFILES)
@pytest.mark.parametrize("cgroup_version", ["1", "2", "unknown"])
def test_the_kubelet_is_told_to_start_on_cgroup_v1_where_it_would_refuse(
    name: str, cgroup_version: str
) -> None:
    made = document(kind_profile(name), cgroup_version=cgroup_version)
    patches = [yaml.safe_load(text) for text in made["nodes"][0]["kubeadmConfigPatches"]]  # type: ignore[index]
    told = {"kind": "KubeletConfiguration", "failCgroupV1": False}
    expected = [told] if cgroup_version == "1" and name != "kind-1.34" else []
    assert patches[1:] == expected


def test_the_audit_log_has_its_policy_and_its_folder_in_the_pod() -> None:
    made = document(kind_profile("kind"))
    mount = made["nodes"][0]["extraMounts"][0]  # type: ignore[index]
    assert mount["hostPath"] == str(POLICY)
    server = patch_of(kind_profile("kind"))["apiServer"]
    arguments, volumes = server["extraArgs"], {v["mountPath"]: v for v in server["extraVolumes"]}
    assert mount["containerPath"] == arguments["audit-policy-file"]
    for file, writable in (("audit-policy-file", False), ("audit-log-path", True)):
        volume = volumes[str(pathlib.PurePosixPath(arguments[file]).parent)]
        assert volume["hostPath"] == volume["mountPath"]
        assert volume["readOnly"] is not writable
    without = patch_of(kind_profile("kind"), policy=None)["apiServer"]
    assert "extraVolumes" not in without
    assert not [name for name in without["extraArgs"] if name.startswith("audit")]


def test_gates_and_apis_go_to_every_component() -> None:
    profile = kind_profile(
        "kind", "feature_gates.DRAPartitionableDevices=true", 'runtime_config={"api/all"="true"}'
    )
    made = document(profile)
    assert made["featureGates"] == {"DRAPartitionableDevices": True}  # type: ignore[index]
    assert made["runtimeConfig"] == {"api/all": "true"}  # type: ignore[index]


def test_the_audit_policy_keeps_whole_objects_of_what_a_verdict_rests_on() -> None:
    policy = yaml.safe_load(control_plane_settings.audit_policy())
    assert policy["apiVersion"] == "audit.k8s.io/v1"
    assert policy["omitStages"] == ["RequestReceived"]
    first, last = policy["rules"]
    assert first["level"] == "RequestResponse"
    kept = {name for entry in first["resources"] for name in entry["resources"]}
    assert {"resourceclaims", "resourceclaims/*", "pods", "pods/*", "bindings"} <= kept
    assert set(first["verbs"]) == {"create", "update", "patch", "delete", "deletecollection"}
    assert last == {"level": "None"}, "leases and events would drown the rest"
