"""Device requests of claims, their subrequests, and references to both by name."""

from collections.abc import Iterator, Mapping

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.cel import cel_selectors
from harness.apiserver.validation.dra import device_taints
from harness.apiserver.validation.field import field_rules, formats

Names = Mapping[str, frozenset[str]]
"""The names of the subrequests in `firstAvailable`, by request name."""
REQUESTS_MAX = 32
SUBREQUESTS_MAX = 8
_UNKNOWN = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated "
    "by '/'"
)
_MODES = ("All", "ExactCount")
_ONE_OF = "exactly one of `exactly` or `firstAvailable` is required"


def names(requests: list[Document]) -> Names:
    """Return the names of requests and subrequests that references may use."""
    return {
        request.get("name") or "": frozenset(
            subrequest.get("name") or "" for subrequest in request.get("firstAvailable") or ()
        )
        for request in requests
    }


def request(document: Document, at: str) -> Iterator[Cause]:
    """Validate a request, which sets either `exactly` or `firstAvailable`."""
    yield from formats.check(f"{at}.name", document.get("name") or "", formats.label)
    exactly, subrequests = document.get("exactly"), document.get("firstAvailable")
    if exactly is None and not subrequests:
        yield field_errors.required(at, _ONE_OF)
    elif exactly is not None and subrequests:
        yield field_errors.invalid(at, None, f"{_ONE_OF}, but multiple fields are set")
    elif exactly is not None:
        yield from _devices(exactly, f"{at}.exactly")
    else:
        where = f"{at}.firstAvailable"
        yield from field_rules.unique_items(
            subrequests or [], where, SUBREQUESTS_MAX, _subrequest, name_of
        )


def name_of(document: Document) -> str:
    """Return the name that identifies a request or subrequest."""
    return document.get("name") or ""


def reference(name: str, at: str, known: Names) -> Iterator[Cause]:
    """Validate a reference: `request` or `request/subrequest`, by names that exist."""
    request_name, slash, subrequest_name = name.partition("/")
    if "/" in subrequest_name:
        yield field_errors.invalid(at, name, _UNKNOWN)
        return
    for part in (request_name, subrequest_name) if slash else (request_name,):
        yield from formats.check(at, part, formats.label)
    if request_name not in known or (slash and subrequest_name not in known[request_name]):
        yield field_errors.invalid(at, name, _UNKNOWN)


def references(listed: list[str] | None, at: str, known: Names) -> Iterator[Cause]:
    """Validate a list of references without duplicates."""
    return field_rules.unique_items(
        listed or [],
        at,
        REQUESTS_MAX,
        lambda name, where: reference(name, where, known),
        field_rules.itself,
    )


def _subrequest(document: Document, at: str) -> Iterator[Cause]:
    yield from formats.check(f"{at}.name", document.get("name") or "", formats.label)
    yield from _devices(document, at)


def _devices(document: Document, at: str) -> Iterator[Cause]:
    class_name = document.get("deviceClassName")
    yield from formats.check_required(f"{at}.deviceClassName", class_name, formats.subdomain)
    if selectors := document.get("selectors"):
        yield from cel_selectors.selector_list(selectors, f"{at}.selectors")
    yield from _amount(document.get("allocationMode") or "", document.get("count") or 0, at)
    if tolerations := document.get("tolerations"):
        yield from device_taints.tolerations(tolerations, f"{at}.tolerations")


def _amount(mode: str, count: int, at: str) -> Iterator[Cause]:
    match mode:
        case "ExactCount":
            if count <= 0:
                yield field_errors.invalid(f"{at}.count", count, "must be greater than zero")
        case "All":
            if count:
                why = "must not be specified when allocationMode is 'All'"
                yield field_errors.invalid(f"{at}.count", count, why)
        case _:
            yield field_errors.unsupported(f"{at}.allocationMode", mode, _MODES)
