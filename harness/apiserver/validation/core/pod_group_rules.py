"""PodGroups of scheduling.k8s.io/v1alpha2: their policy, and their claims.

After pkg/apis/scheduling/validation and the rules that the types declare.
"""

from collections.abc import Iterator, Sequence

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import conditions, field_rules, formats

CLAIMS_MAX = 4
"""Claims of a PodGroup."""
_POLICIES = ("basic", "gang")
_SOURCES = ("resourceClaimName", "resourceClaimTemplateName")
_IMMUTABLE = ("podGroupTemplateRef", "schedulingPolicy", "resourceClaims")


def pod_group(document: Document) -> Iterator[Cause]:
    """Validate a new PodGroup."""
    policy = document["spec"].get("schedulingPolicy") or {}
    at = "spec.schedulingPolicy"
    yield from _one_of(policy, _POLICIES, at)
    if (gang := policy.get("gang")) is not None:
        yield from _gang(gang.get("minCount") or 0, f"{at}.gang.minCount")
    claims = document["spec"].get("resourceClaims") or []
    yield from field_rules.max_items(claims, "spec.resourceClaims", CLAIMS_MAX, _claim)
    if len(claims) <= CLAIMS_MAX:
        yield from _unique(claims, "spec.resourceClaims")


def pod_group_change(document: Document, old: Document) -> Iterator[Cause]:
    """Reject changes of the spec."""
    spec, before = document["spec"], old["spec"]
    for key in _IMMUTABLE:
        if not field_rules.semantically_equal(spec.get(key), before.get(key)):
            yield field_errors.immutable(f"spec.{key}", None)


def pod_group_status(document: Document, old: Document) -> Iterator[Cause]:
    """Validate an updated status."""
    status = document.get("status") or {}
    yield from conditions.condition_list(status.get("conditions") or [], "status.conditions")
    known = {claim["name"] for claim in old["spec"].get("resourceClaims") or ()}
    for index, entry in enumerate(status.get("resourceClaimStatuses") or ()):
        at, name = f"status.resourceClaimStatuses[{index}]", entry.get("name") or ""
        if name not in known:
            why = "must match the name of an entry in `spec.resourceClaims`"
            yield field_errors.invalid(f"{at}.name", name, why)
        if claim_name := entry.get("resourceClaimName"):
            yield from formats.check(f"{at}.resourceClaimName", claim_name, formats.subdomain)


def _one_of(document: Document, keys: Sequence[str], at: str) -> Iterator[Cause]:
    chosen = [key for key in keys if document.get(key) is not None]
    names = ", ".join(f"`{key}`" for key in keys)
    if not chosen:
        yield field_errors.invalid(at, "", f"must specify one of: {names}")
    elif len(chosen) > 1:
        shown = f"{{{', '.join(chosen)}}}"
        yield field_errors.invalid(at, shown, f"must specify exactly one of: {names}")


def _gang(count: int, at: str) -> Iterator[Cause]:
    if count == 0:
        yield field_errors.required(at)
    elif count < 0:
        yield field_errors.invalid(at, count, "must be greater than or equal to 1")


def _claim(claim: Document, at: str) -> Iterator[Cause]:
    yield from formats.check_required(f"{at}.name", claim.get("name"), formats.label)
    yield from _one_of(claim, _SOURCES, at)
    for key in _SOURCES:
        if (name := claim.get(key)) is not None:
            yield from formats.check(f"{at}.{key}", name, formats.subdomain)


def _unique(claims: list[Document], at: str) -> Iterator[Cause]:
    """Reject claims of one name; Kubernetes shows the whole claim."""
    seen = set()
    for index, claim in enumerate(claims):
        if claim.get("name") in seen:
            yield field_errors.duplicate(f"{at}[{index}]", claim)
        seen.add(claim.get("name"))
