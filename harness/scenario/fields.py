"""The base of all tables in scenario and cluster files, and common types of values."""

from typing import Annotated

import pydantic

COUNT_MAX = 1_000_000_000
"""Largest number of things that a file may ask for."""

Count = Annotated[int, pydantic.Field(ge=0, le=COUNT_MAX)]
PositiveCount = Annotated[int, pydantic.Field(ge=1, le=COUNT_MAX)]
Seconds = Annotated[float, pydantic.Field(ge=0, le=86_400)]
Probability = Annotated[float, pydantic.Field(ge=0, le=1)]
ParameterName = Annotated[str, pydantic.Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,62}$")]
"""Key of an opaque parameter; a part of the name of an environment variable."""
Name = Annotated[str, pydantic.Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,48}[a-z0-9])?$")]


class Spec(pydantic.BaseModel):
    """Base of all tables: frozen, and an unknown key is an error."""

    model_config = pydantic.ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, strict=False
    )
