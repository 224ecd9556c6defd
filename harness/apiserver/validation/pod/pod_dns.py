"""DNS configuration and host aliases of pods."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import formats

NAMESERVERS_MAX = 3
SEARCHES_MAX = 32
"""Search domains of one pod."""
SEARCH_CHARACTERS_MAX = 2048
"""Total length of the search domains, with a space between them."""


def dns_config(spec: Document) -> Iterator[Cause]:
    """Validate `dnsConfig`, which `dnsPolicy: None` requires."""
    config, at = spec.get("dnsConfig"), "spec.dnsConfig"
    if spec.get("dnsPolicy") == "None":
        if config is None:
            yield field_errors.required(at, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not config.get("nameservers"):
            why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield field_errors.required(f"{at}.nameservers", why)
            return
    if config:
        yield from _servers(config.get("nameservers") or [], f"{at}.nameservers")
        yield from _searches(config.get("searches") or [], f"{at}.searches")
        for index, option in enumerate(config.get("options") or ()):
            if not option.get("name"):
                yield field_errors.required(f"{at}.options[{index}]", "must not be empty")


def host_aliases(aliases: list[Document], at: str) -> Iterator[Cause]:
    """Validate `hostAliases`: entries for the hosts file."""
    for index, alias in enumerate(aliases):
        yield from formats.check(f"{at}[{index}].ip", alias.get("ip") or "", formats.ip_address)
        for position, name in enumerate(alias.get("hostnames") or ()):
            where = f"{at}[{index}].hostnames[{position}]"
            yield from formats.check(where, name, formats.subdomain)


def _servers(servers: list[str], at: str) -> Iterator[Cause]:
    if len(servers) > NAMESERVERS_MAX:
        yield field_errors.invalid(
            at, servers, f"must not have more than {NAMESERVERS_MAX} nameservers"
        )
    for index, server in enumerate(servers):
        yield from formats.check(f"{at}[{index}]", server, formats.ip_address)


def _searches(searches: list[str], at: str) -> Iterator[Cause]:
    if len(searches) > SEARCHES_MAX:
        yield field_errors.invalid(
            at, searches, f"must not have more than {SEARCHES_MAX} search paths"
        )
    if len(" ".join(searches)) > SEARCH_CHARACTERS_MAX:
        why = (
            f"must not have more than {SEARCH_CHARACTERS_MAX} characters (including spaces) in the "
            "search list"
        )
        yield field_errors.invalid(at, searches, why)
    for index, search in enumerate(searches):
        if search != ".":
            name = search.removesuffix(".")
            yield from formats.check(f"{at}[{index}]", name, formats.search_domain)
