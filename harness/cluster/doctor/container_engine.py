"""Checks of the container engine that kind uses."""

import shutil
from collections.abc import Iterator

from harness import errors
from harness.cluster import cluster_records
from harness.cluster.doctor import diagnosis
from harness.cluster.kind import docker_engine, kind_cluster, kind_config, node_containers
from harness.scenario import profiles

NETWORKS_MAX = 30
"""Subnets in the engine's default address pools: 15 of 172.16.0.0/12, 16 of 192.168.0.0/16."""
MEMORY_MIB_MIN, DISK_GIB_MIN = 2048, 8
"""Needs of the engine for one cluster, with its image; estimates."""
_MIB, _GIB = 1 << 20, 1 << 30
_Finding, _State = diagnosis.Finding, diagnosis.State


def examine() -> list[diagnosis.Finding]:
    """Return all findings about the engine, or a single one if it does not respond."""
    profile = profiles.load("kind")
    if not isinstance(profile, profiles.KindProfile):
        raise errors.HarnessError("expected clusters/kind.toml to be a profile of kind")
    try:
        with docker_engine.connected(timeout_s=5) as engine:
            return list(_examine(engine, profile))
    except errors.ClusterError as error:
        return [
            _Finding(
                provider="kind",
                part="container engine",
                state=_State.MISSING,
                seen="no response",
                remedy=str(error),
            )
        ]


def _examine(
    engine: docker_engine.Engine, profile: profiles.KindProfile
) -> Iterator[diagnosis.Finding]:
    description = engine.describe()
    yield diagnosis.attempted("kind", "container engine", lambda: _usable(description))
    yield _memory(description)
    yield from _disk(description)
    yield _cgroups(description, profile)
    yield _network(engine)
    yield _image(engine, profile)
    yield _left(engine)


def _usable(engine: docker_engine.Description) -> str:
    kind_cluster.require_usable(engine)
    api = ".".join(map(str, engine.api_version))
    return f"Docker {engine.version}, API {api}, {engine.cpus} CPUs, {engine.platform}"


def _memory(engine: docker_engine.Description) -> diagnosis.Finding:
    mib = engine.memory_bytes // _MIB
    return diagnosis.judged(
        "kind",
        "engine's memory",
        good=mib >= MEMORY_MIB_MIN,
        seen=f"{mib} MiB",
        remedy=f"one cluster needs {MEMORY_MIB_MIN} MiB: give the engine more memory "
        "(Docker Desktop: Settings, Resources)",
        otherwise=_State.WARNING,
    )


def _disk(engine: docker_engine.Description) -> Iterator[diagnosis.Finding]:
    try:
        free = shutil.disk_usage(engine.root_folder).free / _GIB
    except OSError:
        return  # the engine's disk is in a virtual machine, or readable by root only
    yield diagnosis.judged(
        "kind",
        "engine's disk",
        good=free >= DISK_GIB_MIN,
        seen=f"{free:.1f} GiB free for {engine.root_folder}",
        remedy=f"image and cluster need {DISK_GIB_MIN} GiB: docker system df, docker system prune",
        otherwise=_State.WARNING,
    )


def _cgroups(engine: docker_engine.Description, profile: profiles.KindProfile) -> diagnosis.Finding:
    return diagnosis.judged(
        "kind",
        "cgroups",
        good=engine.cgroup_version == "2",
        seen=f"version {engine.cgroup_version}{', rootless' if engine.rootless else ''}",
        remedy=_cgroup_remedy(engine, profile),
        otherwise=_State.MISSING if engine.rootless else _State.WARNING,
    )


def _cgroup_remedy(engine: docker_engine.Description, profile: profiles.KindProfile) -> str:
    boot = "boot with systemd.unified_cgroup_hierarchy=1"
    if engine.rootless:
        return f"a rootless engine needs version 2: {boot}"
    if kind_config.refuses_cgroup_v1(profile):
        return (
            f"the kubelet of Kubernetes {profile.kubernetes} starts on version 1 only with failCgroupV1: false, which Flake Hunt sets; "
            f"for version 2, {boot}"
        )
    return f"Kubernetes is phasing out version 1; for version 2, {boot}"


def _network(engine: docker_engine.Engine) -> diagnosis.Finding:
    names = engine.networks()
    count = names.count(docker_engine.NETWORK)
    seen = {0: "none yet, the first cluster creates it", 1: docker_engine.NETWORK}
    remedy = (
        f"{count} networks are called {docker_engine.NETWORK}, and containers may join any of them: docker network ls, "
        "docker network rm ID"
        if count > 1
        else f"{len(names)} networks exist, and an engine has subnets for about 30: docker network prune"
    )
    return diagnosis.judged(
        "kind",
        "network",
        good=count == 1 or (count == 0 and len(names) < NETWORKS_MAX),
        seen=seen.get(count, f"{count} with the same name"),
        remedy=remedy,
        otherwise=_State.WARNING,
    )


def _image(engine: docker_engine.Engine, profile: profiles.KindProfile) -> diagnosis.Finding:
    name = profile.image.partition("@")[0]
    return diagnosis.judged(
        "kind",
        "node image",
        good=engine.has_image(profile.image),
        seen=name,
        remedy=f"not present yet; the first cluster pulls it. Without a network: docker pull {profile.image} and docker save "
        "on another machine, then --cluster image_archive=FILE",
        otherwise=_State.WARNING,
    )


def _left(engine: docker_engine.Engine) -> diagnosis.Finding:
    held = {
        node_containers.cluster_name(entry.name)
        for entry in cluster_records.known()
        if entry.provider == "kind"
    }
    left = sorted({node.cluster for node in engine.nodes()} - held)
    return diagnosis.judged(
        "kind",
        "left by earlier runs",
        good=not left,
        seen=", ".join(left) or "nothing",
        remedy="flake-hunt cluster prune 0",
        otherwise=_State.WARNING,
    )
