"""The base of all tables in scenario and cluster files, and common types of values."""

import dataclasses
import functools
import types
import typing
from typing import Annotated, Any

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


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Boolean:
    """A boolean that no field accepts, so that it is reported with all other mistakes."""

    is_true: bool

    def __repr__(self) -> str:
        return "true" if self.is_true else "false"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text where a number is expected; pydantic would read `"4"` as 4, which a schema refuses."""

    text: str

    def __repr__(self) -> str:
        return repr(self.text)


class Spec(pydantic.BaseModel):
    """Base of all tables: frozen, and an unknown key is an error."""

    model_config = pydantic.ConfigDict(
        extra="forbid", frozen=True, strict=False, defer_build=True, serialize_by_alias=True
    )

    @classmethod
    def key_of(cls, name: str) -> str:
        """Return the key of a field in files: `from` for the field `from_`."""
        return cls.model_fields[name].alias or name

    @pydantic.model_validator(mode="before")
    @classmethod
    def _keep_others_from_numbers(cls, document: Any) -> Any:
        """Replace true, false and texts where a number is expected; pydantic would convert them."""
        if not isinstance(document, dict):
            return document
        return {name: cls._unconverted(name, value) for name, value in document.items()}

    @classmethod
    def _unconverted(cls, name: str, value: Any) -> Any:
        if not isinstance(value, bool | str):
            return value
        field = cls.model_fields.get(name)
        annotation: Any = None if field is None else field.annotation
        accepted = _scalars(annotation)
        words = {word for kind in accepted for word in typing.get_args(kind)}
        if type(value) in accepted or value in words or not accepted & {int, float}:
            return value
        return Boolean(is_true=value) if isinstance(value, bool) else Text(text=value)


@functools.cache
def _scalars(annotation: Any) -> frozenset[Any]:
    """Return the types that a field accepts, without those of its items."""
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        return _scalars(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return frozenset().union(*map(_scalars, typing.get_args(annotation)))
    return frozenset({annotation})
