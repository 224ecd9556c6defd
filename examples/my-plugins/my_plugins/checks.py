"""A check: all devices of a claim are of one pool, that is, on one node."""

from harness import api


class OnePoolPerClaim:
    """Two holds of one claim at a time, of different pools, would be a violation."""

    promise = "a claim has devices of one pool only"

    def check(self, run: api.RunView) -> api.CheckAnswer:
        """Compare the pools of the devices that a claim got by one commit."""
        pools: dict[tuple[str, int], set[str]] = {}
        for hold in run.holds:
            pool = hold.device.rpartition("/")[0]
            pools.setdefault((hold.uid, hold.from_rv), set()).add(pool)
        return api.CheckAnswer(
            examined=len(pools),
            violations=[
                api.Violation(
                    summary=f"claim {uid} has devices of {', '.join(sorted(found))}",
                    resource_versions=[version],
                )
                for (uid, version), found in pools.items()
                if len(found) > 1
            ],
        )
