"""Volumes of ConfigMaps, Secrets, the downward API, and projected volumes of several sources."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import field_rules, formats
from harness.apiserver.validation.pod import downward_api_fields

TOKEN_S_MIN = 600
"""The shortest lifetime of a service account token, in seconds."""
TOKEN_S_MAX = 2**32
"""The longest lifetime of a service account token, in seconds."""
_SOURCES = ("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle")


def config_map(source: Document, at: str) -> Iterator[Cause]:
    """Validate a ConfigMap volume source."""
    yield from field_rules.required(source, at, "name")
    yield from field_rules.file_mode(source, at, "defaultMode")
    yield from _keys(source, at)


def secret(source: Document, at: str) -> Iterator[Cause]:
    """Validate a Secret volume source."""
    yield from field_rules.required(source, at, "secretName")
    yield from field_rules.file_mode(source, at, "defaultMode")
    yield from _keys(source, at)


def downward_api(source: Document, at: str) -> Iterator[Cause]:
    """Validate a downward API volume source."""
    yield from field_rules.file_mode(source, at, "defaultMode")
    yield from _files(source, at)


def projected(volume: Document, at: str) -> Iterator[Cause]:
    """Validate a projected volume source; paths are unique in the volume."""
    yield from field_rules.file_mode(volume, at, "defaultMode")
    seen: set[str] = set()
    for index, source in enumerate(volume.get("sources") or ()):
        where = f"{at}.sources[{index}]"
        yield from _parts(source, where, at)
        yield from _repeated(source, at, seen)
        if sum(source.get(kind) is not None for kind in _SOURCES) > 1:
            yield field_errors.forbidden(
                where, "may not specify more than 1 volume type per source"
            )


def service_account_tokens(volumes: list[Document], at: str) -> Iterator[Cause]:
    """Reject service account tokens in the volumes of a pod without `serviceAccountName`."""
    for index, volume in enumerate(volumes):
        for position, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if source.get("serviceAccountToken") is not None:
                where = f"{at}[{index}].projected.sources[{position}].serviceAccountToken"
                yield field_errors.forbidden(
                    where, "must not be specified when serviceAccountName is not set"
                )


def _parts(source: Document, where: str, at: str) -> Iterator[Cause]:
    for kind in ("secret", "configMap"):
        if (part := source.get(kind)) is not None:
            yield from field_rules.required(part, f"{where}.{kind}", "name")
            yield from _keys(part, f"{where}.{kind}")
    if (part := source.get("downwardAPI")) is not None:
        yield from _files(part, f"{where}.downwardAPI")
    if (part := source.get("serviceAccountToken")) is not None:
        yield from _token(part, f"{where}.serviceAccountToken", at)


def _keys(source: Document, at: str) -> Iterator[Cause]:
    for index, item in enumerate(source.get("items") or ()):
        where = f"{at}.items[{index}]"
        yield from field_rules.required(item, where, "key", "path")
        yield from formats.check(f"{where}.path", item.get("path") or "", formats.unreserved_path)
        yield from field_rules.file_mode(item, where, "mode")


def _files(source: Document, at: str) -> Iterator[Cause]:
    """Validate files of the downward API; like kube-apiserver, report them without their index."""
    for item in source.get("items") or ():
        yield from field_rules.required(item, at, "path")
        yield from formats.check(f"{at}.path", item.get("path") or "", formats.unreserved_path)
        yield from downward_api_fields.file(item, at)


def _token(token: Document, where: str, at: str) -> Iterator[Cause]:
    lifetime_s = token.get("expirationSeconds") or 0
    if lifetime_s < TOKEN_S_MIN:
        why = "may not specify a duration less than 10 minutes"
        yield field_errors.invalid(f"{where}.expirationSeconds", lifetime_s, why)
    if lifetime_s > TOKEN_S_MAX:
        why = "may not specify a duration larger than 2^32 seconds"
        yield field_errors.invalid(f"{where}.expirationSeconds", lifetime_s, why)
    # The path is reported as one of the volume's own fields.
    yield from field_rules.required(token, at, "path")
    yield from formats.check(f"{at}.path", token.get("path") or "", formats.unreserved_path)


def _repeated(source: Document, at: str, seen: set[str]) -> Iterator[Cause]:
    for kind in ("secret", "configMap", "downwardAPI"):
        part = source.get(kind) or {}
        for item in part.get("items") or ():
            path = item.get("path") or ""
            if path and path in seen:
                shown = path if kind == "downwardAPI" else part.get("name") or ""
                yield field_errors.invalid(at, shown, "conflicting duplicate paths")
            seen.add(path)
