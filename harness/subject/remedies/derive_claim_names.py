"""A remedy for hypothesis H8: a second claim for one entry of a pod."""

import hashlib
from collections.abc import Iterator

from harness import concurrency
from harness.client import apis
from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.claim_control import generating, pod_syncing
from harness.subject.objects import claims

TRIES_MAX = 8
"""Names to try for a claim; as many as the API server tries to generate."""
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
"""Alphabet and length of the suffixes that the API server generates."""
_BASE_MAX = 58
"""Characters of a base before its suffix, as the API server shortens it."""


class DerivingPodSyncer(pod_syncing.PodSyncer):
    """The suffix of a generated claim's name is derived, so that a repeated creation hits the same.

    Hypothesis H8. The claim controller creates a claim by `generateName` and gets no answer. The
    claim may be stored, may be stored later, or never. Until its event comes, the retry creates
    another one with another name (`handleClaim` in pkg/controller/resourceclaim/controller.go).

    Upstream could do this: choose the suffix itself, as a hash of the pod's UID, the entry and the
    claim that the pod's status has recorded, if any. A retry then sends the same name, also that of
    a controller that has started since or has taken over. If the API server answers AlreadyExists,
    one GET shows whose the claim is: the pod's own one is used, for any other one the next suffix
    is tried.

    Why it is enough: names are unique in a namespace, so that of several creations with one name at
    most one is stored at a time, whatever became of the answers and however late a request arrives.
    A claim that was recorded and lost gives its successor another name, so that the pod sees a
    change. It costs one read for each creation that meets an existing claim, and none otherwise.

    Not covered: two controllers of which only one has the remedy. The successor of a claim that was
    lost before it was recorded has the same name, with another UID. A creation that is still under
    way when another client deletes the claim of its retry succeeds beside that of the successor,
    because its name is free again (H17).
    """

    facts = replacements.Facts(name="derive-claim-names")

    def _send(self, wanted: Object, pod: Object) -> Object:
        refused: pod_syncing.ClaimCreationError | None = None
        for name in names(wanted, pod):
            try:
                return super()._send(claims.with_metadata(wanted, name=name), pod)
            except pod_syncing.ClaimCreationError as error:
                if not _is_taken(error):
                    raise
                refused = error
            found = self._own(wanted, name, pod)
            if found is not None:
                return found
        raise pod_syncing.ClaimCreationError(f"every name is taken: {refused}") from refused

    def _own(self, wanted: Object, name: str, pod: Object) -> Object | None:
        """Return the claim of this name if an earlier creation for the pod's entry made it.

        Raises ClaimCreationError if it cannot be read, so that the sync is retried.
        """
        concurrency.step("remedy.name-taken", claim_name=name, pod=claims.uid_of(pod))
        try:
            found = self._context.api.get(apis.CLAIMS, name, namespace=pod["metadata"]["namespace"])
        except pod_syncing.FAILURES as error:
            raise pod_syncing.ClaimCreationError(f"get ResourceClaim {name}: {error}") from error
        is_own = _entry_of(found) == _entry_of(wanted) and not claims.is_deleting(found)
        return found if is_own else None


def names(wanted: Object, pod: Object) -> Iterator[str]:
    """Yield the names to try for a claim of the pod, always the same ones in the same situation."""
    meta = wanted["metadata"]
    entry = meta["annotations"][claims.POD_CLAIM_NAME]
    recorded = claims.recorded_names(pod).get(entry) or ""
    for number in range(TRIES_MAX):
        text = f"{claims.uid_of(pod)}/{entry}/{recorded}/{number}"
        yield meta["generateName"][:_BASE_MAX] + _suffix(text)


def _suffix(text: str) -> str:
    """Return five characters for a text, of those that the API server generates."""
    digest = int.from_bytes(hashlib.sha256(text.encode()).digest())
    letters = []
    for _ in range(_SUFFIX_LENGTH):
        digest, index = divmod(digest, len(_ALPHABET))
        letters.append(_ALPHABET[index])
    return "".join(letters)


def _entry_of(claim: Object) -> tuple[object, object]:
    annotations = claim["metadata"].get("annotations") or {}
    return generating.owning_pod(claim), annotations.get(claims.POD_CLAIM_NAME)


def _is_taken(error: pod_syncing.ClaimCreationError) -> bool:
    cause = error.__cause__
    return isinstance(cause, apis.ApiError) and cause.is_already_exists
