"""A drawn world of one node, whose pods begin and end."""

from harness.explore.worlds import parts
from harness.explore.worlds.lifecycles import node_preparations
from harness.explore.worlds.random_worlds import drawings

Stream = drawings.DrawingStream


def draw(stream: Stream) -> parts.Setting:
    """Return a world without a scheduler, whose claims are allocated."""
    found = []
    if stream.chance(0.5, "node: a pod is refused"):
        found.append(parts.Part(name=node_preparations.REFUSED, kind="actor"))
    if stream.chance(0.5, "node: rebooted"):
        found.append(parts.Part(name=node_preparations.REBOOTED, kind="actor"))
    if stream.chance(0.5, "node: kubelet restarts"):
        found.append(parts.Part(name=node_preparations.RESTARTED, kind="actor"))
    numbers = {"pods": stream.number(2, 4), "binders": 1}
    return parts.Setting(
        parts=tuple(found),
        numbers=numbers,
        features=stream.features,
        is_of_node=True,
        schedulers=(),
    )
