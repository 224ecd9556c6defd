"""The base of all tables in scenario and cluster files, and common types of values."""

from typing import Annotated

import pydantic

from harness.model import quantities

COUNT_MAX = 1_000_000_000
"""Largest number of things that a file may ask for."""

Count = Annotated[int, pydantic.Field(ge=0, le=COUNT_MAX)]
PositiveCount = Annotated[int, pydantic.Field(ge=1, le=COUNT_MAX)]
Seconds = Annotated[float, pydantic.Field(ge=0, le=86_400)]
Probability = Annotated[float, pydantic.Field(ge=0, le=1)]
ParameterName = Annotated[str, pydantic.Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,62}$")]
"""Key of an opaque parameter; a part of the name of an environment variable."""
Name = Annotated[str, pydantic.Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,48}[a-z0-9])?$")]

CheckName = Annotated[str, pydantic.Field(pattern=r"^[a-z]([a-z0-9_]{0,48}[a-z0-9])?$")]
"""Name of a check, as `verdict.json` has it."""


def _require_quantity(value: object) -> object:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if is_number or isinstance(value, str):
        quantities.amount(str(value))
        return str(value)
    raise ValueError(f"expected a quantity such as 4, '500m' or '8Gi', got {value!r:.60}")


Quantity = Annotated[
    str, pydantic.BeforeValidator(_require_quantity, json_schema_input_type=int | str)
]
"""An amount as the API writes it."""

Texts = Annotated[tuple[str, ...], pydantic.Field(strict=False)]
"""Texts that plans have as a list."""


class Spec(pydantic.BaseModel):
    """Base of all tables: frozen, and an unknown key is an error."""

    model_config = pydantic.ConfigDict(
        extra="forbid", frozen=True, strict=True, defer_build=True, serialize_by_alias=True
    )
