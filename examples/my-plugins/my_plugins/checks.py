"""A check: all devices of a claim are of one pool, that is, on one node."""

from harness import api


def _judge(evidence: api.Evidence) -> api.CheckAnswer:
    """Compare the pools of the devices that a claim got by one commit."""
    pools: dict[tuple[str, int], set[str]] = {}
    for hold in evidence[api.RunView].holds:
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


ONE_POOL_PER_CLAIM = api.Check(
    name="one_pool_per_claim",
    promise="a claim has devices of one pool only",
    needs=(api.RunView,),
    judge=_judge,
)
