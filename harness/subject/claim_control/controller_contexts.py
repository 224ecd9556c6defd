"""The objects that the parts of the controller share: API, caches, queue and events."""

import collections
import dataclasses

from harness.client import apis, event_recording, informers, served_informers
from harness.subject.claim_control import (
    created_claims,
    work_queues,
)

DELETED_PODS_MAX = 500
"""Number of UIDs of deleted pods to remember, as upstream."""


class DeletedPods:
    """The UIDs of the pods and PodGroups that were deleted last; their reservations are stale.

    Only those that use claims are added, so that others cannot push them out.
    """

    def __init__(self) -> None:
        self._uids: collections.OrderedDict[str, None] = collections.OrderedDict()

    def add(self, uid: str) -> None:
        """Remember a UID, and forget the oldest if there are too many."""
        self._uids[uid] = None
        while len(self._uids) > DELETED_PODS_MAX:
            self._uids.popitem(last=False)

    def __contains__(self, uid: object) -> bool:
        return uid in self._uids

    def __len__(self) -> int:
        return len(self._uids)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ControllerContext:
    """The shared objects; the parts have no state of their own beside it."""

    api: apis.Api
    queue: work_queues.WorkQueue
    pods: informers.Informer
    claims: informers.Informer
    templates: informers.Informer
    groups: served_informers.ServedInformer
    created: created_claims.CreatedClaims
    deleted_pods: DeletedPods
    events: event_recording.EventRecorder
