"""The containers of kind clusters in an engine that others share: by name, and their removal."""

from harness import clocks, errors
from harness.cluster.kind import docker_engine

NAME_MAX = 50
"""kind appends a suffix, and a hostname has at most 64 characters."""
SETTLE_INTERVAL_S = 0.25


def cluster_name(name: str) -> str:
    """Return the name with the harness's prefix, `fh-<run>-<worker>`.

    Raises UsageError for a name that kind accepts but that is too long for a hostname.
    """
    prefixed = docker_engine.NAME_PREFIX + name.removeprefix("flake-hunt-").removeprefix(
        docker_engine.NAME_PREFIX
    )
    if len(prefixed) > NAME_MAX:
        raise errors.UsageError(
            f"expected a kind cluster's name of at most {NAME_MAX} characters, got {prefixed!r}"
        )
    return prefixed


def require_free(engine: docker_engine.Engine, name: str) -> None:
    """Raise UsageError if containers of this name exist."""
    taken = [container.name for container in engine.nodes(name)]
    if taken:
        raise errors.UsageError(
            f"expected no kind cluster {name!r}, but it has containers ({', '.join(taken)}): "
            f"`flake-hunt cluster prune`, or `kind delete cluster --name {name}`"
        )


def remove(engine: docker_engine.Engine, name: str, *, settle_s: float = 0.0) -> bool:
    """Remove a cluster's containers and their volumes; return whether there were any.

    `settle_s`: how long to look again, because the engine may still create containers for an
    interrupted command.
    """
    removed = _remove_now(engine, name)
    deadline_ns = clocks.monotonic_ns() + int(settle_s * 1e9)
    while clocks.monotonic_ns() < deadline_ns:
        clocks.sleep(SETTLE_INTERVAL_S)
        removed = _remove_now(engine, name) or removed
    return removed


def _remove_now(engine: docker_engine.Engine, name: str) -> bool:
    containers = engine.nodes(name)
    for container in containers:
        volumes = engine.volumes_of(container)
        engine.remove(container)
        for volume in volumes:  # anonymous ones stay if an earlier removal was interrupted
            engine.remove_volume(volume)
    return bool(containers)
