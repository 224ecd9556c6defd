"""Draws worlds about one node: pods that begin and end, and the claims that a kubelet prepares."""

from harness.explore.worlds.random_worlds import drawing_streams, drawings

Stream = drawing_streams.DrawingStream
REFUSED, REBOOTED, RESTARTED = "refused-pod", "rebooted-node", "restarted-kubelet"


def draw(stream: Stream) -> drawings.Drawing:
    """Return a world without a scheduler, whose claims are allocated."""
    parts = []
    if stream.chance(0.5, "node: a pod is refused"):
        parts.append(drawings.Part(name=REFUSED, kind="actor"))
    if stream.chance(0.5, "node: rebooted"):
        parts.append(drawings.Part(name=REBOOTED, kind="actor"))
    if stream.chance(0.5, "node: kubelet restarts"):
        parts.append(drawings.Part(name=RESTARTED, kind="actor"))
    numbers = {"pods": stream.number(2, 4), "binders": 1}
    return drawings.Drawing(
        parts=tuple(parts), numbers=numbers, features=stream.features, is_of_node=True
    )
