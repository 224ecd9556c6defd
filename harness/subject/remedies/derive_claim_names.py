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


@replacements.known_as("derive-claim-names")
class DerivingPodSyncer(pod_syncing.PodSyncer):
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
        """Return the claim of this name if an earlier creation made it. Raises to try again."""
        concurrency.step("remedy.name-taken", claim_name=name, pod=claims.uid_of(pod))
        try:
            found = self._context.api.get(apis.CLAIMS, name, namespace=pod["metadata"]["namespace"])
        except pod_syncing.FAILURES as error:
            raise pod_syncing.ClaimCreationError(f"get ResourceClaim {name}: {error}") from error
        is_own = _entry_of(found) == _entry_of(wanted) and not claims.is_deleting(found)
        return found if is_own else None


def names(wanted: Object, pod: Object) -> Iterator[str]:
    meta = wanted["metadata"]
    entry = meta["annotations"][claims.POD_CLAIM_NAME]
    recorded = claims.recorded_names(pod).get(entry) or ""
    for number in range(TRIES_MAX):
        text = f"{claims.uid_of(pod)}/{entry}/{recorded}/{number}"
        yield meta["generateName"][:_BASE_MAX] + _suffix(text)


def _suffix(text: str) -> str:
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
