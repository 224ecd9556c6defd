"""Is any revision of the cluster missing in the observations?

In a cluster with dense revisions (the embedded API server's), each commit takes the next revision,
and the plan says so and names every resource that takes some. Between the first lists and the final
lists, each revision must then have been observed as the version of exactly one object. In other
clusters (etcd's revisions count writes that no watch shows) nothing can be said.
"""

from collections.abc import Iterable

import numpy as np

from harness.checks.evidence import contradictions, observed_versions

DENSE = "revisions"
"""The item of the certificate that this module answers."""


def between(first: Iterable[int], final: Iterable[int]) -> tuple[int, int]:
    """Return the versions between which every commit was observed, from those of the lists."""
    begin = max(first, default=0)
    return begin, max(min(final, default=0), begin)


def require_dense(
    found: contradictions.Contradictions,
    observed: observed_versions.NumberedVersions,
    limits: tuple[int, int],
) -> None:
    """Count the revisions that are missing. Each may have been a commit of any object."""
    begin, end = limits
    seen = observed_versions.distinct(observed.numbers())
    seen = seen[(seen > begin) & (seen <= end)]
    edges = np.concatenate(([begin], seen, [end + 1]))
    for gap in np.flatnonzero(np.diff(edges) > 1):
        after, until = int(edges[gap]) + 1, int(edges[gap + 1]) - 1
        named = f"revision {after} was"
        if after < until:
            named = f"the revisions {after} to {until} were"
        found.add(DENSE, f"{named} not observed", from_rv=after)
