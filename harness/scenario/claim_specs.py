"""The keys of `claim` in a scenario file: what each claim asks for."""

from typing import Annotated

import pydantic

from harness.scenario.fields import ParameterName, Spec


class ClaimSpec(Spec):
    """The request of each claim."""

    devices: Annotated[int, pydantic.Field(ge=1, le=32)] = 1
    """Devices in an exact-count request; the API allows 32 results."""
    selectors: list[str] = []
    """CEL expressions of the request."""
    admin_access: bool = False
    """Request admin access, which is never a double allocation."""
    extended: bool = False
    """The containers request the class's extended resource (`pools.device_class`), and the
    scheduler creates the claim; no user creates a claim or a template."""
    parameters: dict[ParameterName, str] = {}
    """Opaque parameters for the driver; containers get each as `user_<key>` in their environment.
    `{claim}` in a value stands for the claim's name (of a generated claim: its template's)."""
