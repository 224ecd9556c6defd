"""Names of drivers, pools, attributes and capacities: functions that return their field errors."""

import functools
from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.validation.field import formats

DRIVER_BYTES_MAX = 63
POOL_BYTES_MAX = 253
IDENTIFIER_BYTES_MAX = 32


@functools.lru_cache(formats.CACHE_SIZE)
def driver_causes(at: str, value: str | None) -> tuple[Cause, ...]:
    """Return the field errors of a driver name: a formats.subdomain, in upper or lower case."""
    if not value:
        return (field_errors.required(at),)
    length = [field_errors.too_long(at, DRIVER_BYTES_MAX)] if len(value) > DRIVER_BYTES_MAX else []
    return (
        *length,
        *(field_errors.invalid(at, value, why) for why in formats.subdomain(value.lower())),
    )


@functools.lru_cache(formats.CACHE_SIZE)
def pool_causes(at: str, value: str | None) -> tuple[Cause, ...]:
    """Return the field errors of a pool name: subdomains separated by slashes."""
    if not value:
        return (field_errors.required(at),)
    length = [field_errors.too_long(at, POOL_BYTES_MAX)] if len(value) > POOL_BYTES_MAX else []
    parts = value.split("/")
    return (
        *length,
        *(field_errors.invalid(at, part, why) for part in parts for why in formats.subdomain(part)),
    )


def identifier_causes(at: str, value: str) -> Iterator[Cause]:
    """Return the field errors of an attribute or capacity name without a domain."""
    if len(value.encode()) > IDENTIFIER_BYTES_MAX:
        yield field_errors.too_long(at, IDENTIFIER_BYTES_MAX)
    yield from formats.check(at, value, formats.c_identifier)


def attribute_causes(at: str, value: str) -> Iterator[Cause]:
    """Return the field errors of an attribute or capacity name, with or without a domain."""
    domain, slash, name = value.partition("/")
    if not slash:
        yield from identifier_causes(at, value)
        return
    if "/" in name:
        return  # kube-apiserver accepts any name with two slashes
    if domain:
        yield from driver_causes(at, domain)
    else:
        yield field_errors.invalid(at, "", "the domain must not be empty")
    if name:
        yield from identifier_causes(at, name)
    else:
        yield field_errors.invalid(at, "", "the name must not be empty")


def full_attribute_causes(at: str, value: str) -> Iterator[Cause]:
    """Return the field errors of an attribute name with a domain."""
    yield from attribute_causes(at, value)
    if "/" not in value:
        why = "a fully qualified name must be a domain and a name separated by a slash"
        yield field_errors.invalid(at, value, why)
