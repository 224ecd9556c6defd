"""The request, or the alternative of a request, that a result names."""

import dataclasses
from collections.abc import Iterator

from harness.checks.observed import observed_claims


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Option:
    """A request, or one of its alternatives."""

    request: str
    """Name of the request."""
    name: str
    """The name that results use: the request's, or `<request>/<alternative>`."""
    wanted: observed_claims.ExactRequest

    @property
    def count(self) -> int | None:
        """The number of devices that are asked for; None: all that match."""
        return None if self.wanted.allocation_mode == "All" else self.wanted.count

    @property
    def expressions(self) -> list[str]:
        """The CEL expressions of its selectors, without those of the class."""
        return expressions(self.wanted.selectors)


def options_of(request: observed_claims.Request) -> Iterator[Option]:
    """Yield a request, or its alternatives in order."""
    if request.exactly is not None:
        yield Option(request.name, request.name, request.exactly)
    for alternative in request.first_available or ():
        yield Option(request.name, f"{request.name}/{alternative.name}", alternative)


def by_name(spec: observed_claims.DeviceClaim) -> dict[str, Option]:
    """Return the options by the names that results give them."""
    return {
        option.name: option for request in spec.requests or () for option in options_of(request)
    }


def expressions(selectors: list[object] | None) -> list[str]:
    """Return the CEL expressions of selectors, of a request or of a class."""
    found = []
    for item in selectors or ():
        cel = item.get("cel") if isinstance(item, dict) else None
        found.append(str((cel or {}).get("expression", "")))
    return found
