"""Environment variables of a container: `env` and `envFrom`."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import formats
from harness.apiserver.validation.pod import downward_api_fields

_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_SEVERAL = "may not have more than one field specified at a time"


def env(variables: list[Document], at: str) -> Iterator[Cause]:
    """Validate `env`. Names may repeat: the last one wins."""
    for index, variable in enumerate(variables):
        where, source = f"{at}[{index}]", variable.get("valueFrom")
        yield from formats.check_required(
            f"{where}.name", variable.get("name"), formats.env_var_name
        )
        if source is not None:
            yield from _source(source, variable.get("value") or "", f"{where}.valueFrom")


def env_from(sources: list[Document], at: str) -> Iterator[Cause]:
    """Validate `envFrom`: ConfigMaps and Secrets whose keys become variables."""
    for index, source in enumerate(sources):
        where = f"{at}[{index}]"
        if prefix := source.get("prefix"):
            yield from formats.check(f"{where}.prefix", prefix, formats.env_var_name)
        kinds = [key for key in ("configMapRef", "secretRef") if source.get(key) is not None]
        for key in kinds:
            yield from formats.check_required(
                f"{where}.{key}.name", source[key].get("name"), _object_name
            )
        if not kinds:
            why = "must specify one of: `configMapRef` or `secretRef`"
            yield field_errors.invalid(at, "", why)
        elif len(kinds) > 1:
            yield field_errors.invalid(at, "", _SEVERAL)


def _object_name(name: str) -> list[str]:
    """Validate an object name; like kube-apiserver, accept a trailing dash here."""
    return list(formats.subdomain(f"{name[:-1]}a" if name.endswith("-") else name))


def _source(source: Document, value: str, at: str) -> Iterator[Cause]:
    kinds = [key for key in _SOURCES if source.get(key) is not None]
    if "fieldRef" in kinds:
        yield from downward_api_fields.field_ref(
            source["fieldRef"], f"{at}.fieldRef", downward_api_fields.FIELDS_OF_ENV
        )
    if "resourceFieldRef" in kinds:
        where = f"{at}.resourceFieldRef"
        yield from downward_api_fields.resource_field_ref(
            source["resourceFieldRef"], where, of_file=False
        )
    for key in ("configMapKeyRef", "secretKeyRef"):
        if key in kinds:
            yield from _key(source[key], f"{at}.{key}")
    if not kinds:
        why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        yield field_errors.invalid(at, "", why)
    elif value:
        yield field_errors.invalid(at, "", "may not be specified when `value` is not empty")
    elif len(kinds) > 1:
        yield field_errors.invalid(at, "", _SEVERAL)


def _key(reference: Document, at: str) -> Iterator[Cause]:
    yield from formats.check(f"{at}.name", reference.get("name") or "", formats.subdomain)
    yield from formats.check_required(f"{at}.key", reference.get("key"), formats.config_key)
