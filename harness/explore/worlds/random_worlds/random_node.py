"""A drawn world of one node, whose pods begin and end."""

from collections.abc import Sequence

from harness.cluster.dra import claim_infos
from harness.explore.runtime import scheduler
from harness.explore.worlds import world_specs
from harness.explore.worlds.lifecycles import node_preparations
from harness.explore.worlds.random_worlds import drawings, node_drawing


class RandomNode(node_preparations.RefusedPod, node_preparations.RebootedNode):
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
        """Create the world of a single run."""
        self._drawing = drawing.included(spec.values)
        super().__init__(spec, runtime, defects=defects, remedies=remedies)

    def new_checkpoint(self) -> claim_infos.Checkpoint:
        """Return the checkpoint, of before the reboot if there was one."""
        if self._drawing.has((node_drawing.REBOOTED,)):
            return super().new_checkpoint()
        return node_preparations.NodePreparations.new_checkpoint(self)

    def begin(self) -> None:
        """Start a thread for each pod, and perhaps one for a pod that is refused."""
        if self._drawing.has((node_drawing.REFUSED,)):
            super().begin()
        else:
            node_preparations.NodePreparations.begin(self)
