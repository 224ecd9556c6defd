"""A drawn world of one node, whose pods begin and end."""

from collections.abc import Sequence

from harness.explore.runtime import scheduler
from harness.explore.worlds import world_specs
from harness.explore.worlds.lifecycles import node_preparations
from harness.explore.worlds.random_worlds import drawings

Stream = drawings.DrawingStream
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


class RandomNode(
    node_preparations.RefusedPod,
    node_preparations.RebootedNode,
    node_preparations.RestartedKubelet,
):
    """The node that a drawing describes."""

    def __init__(
        self,
        spec: world_specs.WorldSpec,
        runtime: scheduler.ControlledRuntime,
        *,
        defects: Sequence[str],
        remedies: Sequence[str] = (),
        drawing: drawings.Drawing,
    ) -> None:
        self._drawing = drawing.included(spec.values)
        super().__init__(spec, runtime, defects=defects, remedies=remedies)

    def checkpoint_before(self) -> bytes | None:
        """Return the checkpoint of before the reboot, if there was one."""
        if self._drawing.has((REBOOTED,)):
            return super().checkpoint_before()
        return None

    def begin(self) -> None:
        """Start a thread for each pod, and those of what else happens."""
        node_preparations.NodePreparations.begin(self)
        if self._drawing.has((REFUSED,)):
            self.refuse()
        if self._drawing.has((RESTARTED,)):
            self.restart()
