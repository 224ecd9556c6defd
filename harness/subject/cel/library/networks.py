"""Kubernetes' functions of IP addresses and CIDR networks, after Go's net/netip."""

import dataclasses
import ipaddress
import re
from collections.abc import Callable
from typing import Any

from harness.subject.cel.values import EvaluationError, no_overload

_V4_BYTES, _V6_BYTES = 4, 16


@dataclasses.dataclass(frozen=True, slots=True)
class Address:
    """An IP address."""

    ip: ipaddress.IPv4Address | ipaddress.IPv6Address
    cel_type = "net.IP"

    def __str__(self) -> str:
        return str(self.ip)

    @property
    def cel_size(self) -> int:
        """The address's size in bytes, by which upstream charges."""
        return _V4_BYTES if self.ip.version == 4 else _V6_BYTES


@dataclasses.dataclass(frozen=True, slots=True)
class Network:
    """An address with a prefix length; the address may have bits behind the prefix."""

    ip: ipaddress.IPv4Address | ipaddress.IPv6Address
    prefix: int
    cel_type = "net.CIDR"

    def __str__(self) -> str:
        return f"{self.ip}/{self.prefix}"

    @property
    def cel_size(self) -> int:
        """The size of the prefix in bytes, by which upstream charges."""
        return -(-self.prefix // 8)

    def contains(self, other: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
        if self.ip.version != other.version:
            return False
        shift = self.ip.max_prefixlen - self.prefix
        return int(self.ip) >> shift == int(other) >> shift


def parse_address(text: str) -> Address:
    """Return the address; zones and IPv4 within IPv6 are refused, as upstream does."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise EvaluationError(
            f'IP Address "{text}" parse error during conversion from string: '
            f'ParseAddr("{text}"): {_reason(text)}'
        ) from None
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id:
            raise EvaluationError(f'IP address "{text}" with zone value is not allowed')
        if address.ipv4_mapped:
            raise EvaluationError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return Address(address)


def _reason(text: str) -> str:
    """Return Go's reason for refusing an address."""
    if ":" not in text:
        if "." not in text:
            return "unable to parse IP"
        fields = text.split(".")
        if "" in fields:
            return "IPv4 field must have at least one digit"
        if not all(re.fullmatch("[0-9]+", field) for field in fields):
            return "unexpected character"
        if any(int(field) > 255 for field in fields):
            return "IPv4 field has value >255"
        if any(len(field) > 1 and field[0] == "0" for field in fields):
            return "IPv4 field has octet with leading zero"
        return "IPv4 address too long" if len(fields) > _V4_BYTES else "IPv4 address too short"
    if ":::" in text:
        rest = text[text.index(":::") + 2 :]
        return f'each colon-separated field must have at least one digit (at "{rest}")'
    return "unable to parse IP"


def parse_network(text: str) -> Network:
    """Return the network; raises EvaluationError for a text that is none."""
    address, slash, bits = text.rpartition("/")
    if not slash:
        raise _not_network(text, "no '/'")
    try:
        ip = parse_address(address).ip
    except EvaluationError as error:
        raise _not_network(text, str(error)) from None
    if not re.fullmatch("0|[1-9][0-9]{0,2}", bits):
        raise _not_network(text, f'bad bits after slash: "{bits}"')
    if int(bits) > ip.max_prefixlen:
        raise _not_network(text, "prefix length out of range")
    return Network(ip, int(bits))


def _not_network(text: str, reason: str) -> EvaluationError:
    twice = "network address parse error during conversion from string: " * 2
    return EvaluationError(f'{twice}netip.ParsePrefix("{text}"): {reason}')


def _is(parse: Callable[[str], Any]) -> Callable[[Any], bool]:
    def function(text: Any) -> bool:
        if not isinstance(text, str):
            raise no_overload()
        try:
            parse(text)
        except EvaluationError:
            return False
        return True

    return function


def _ip(value: Any) -> Address:
    if isinstance(value, Network):
        return Address(value.ip)
    if not isinstance(value, str):
        raise no_overload()
    return parse_address(value)


def _cidr(value: Any) -> Network:
    if not isinstance(value, str):
        raise no_overload()
    return parse_network(value)


def _of_address(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def checked(address: Any) -> Any:
        if not isinstance(address, Address):
            raise no_overload()
        return function(address.ip)

    return checked


def _of_network(function: Callable[..., Any]) -> Callable[..., Any]:
    def checked(network: Any, *rest: Any) -> Any:
        if not isinstance(network, Network):
            raise no_overload()
        return function(network, *rest)

    return checked


def _is_link_local_multicast(ip: Any) -> bool:
    local = (
        ("224.0.0.0/24",) if ip.version == 4 else tuple(f"ff{flags:x}2::/16" for flags in range(16))
    )
    return any(ip in ipaddress.ip_network(network) for network in local)


def _is_global_unicast(ip: Any) -> bool:
    is_broadcast = ip.version == 4 and int(ip) == 2**32 - 1
    others = ip.is_unspecified or ip.is_loopback or ip.is_multicast or ip.is_link_local
    return not (is_broadcast or others)


def _contains_ip(network: Network, other: Any) -> bool:
    return network.contains(_ip(other).ip if isinstance(other, str) else other.ip)


def _contains_cidr(network: Network, other: Any) -> bool:
    inner = parse_network(other) if isinstance(other, str) else other
    return inner.prefix >= network.prefix and network.contains(inner.ip)


def _masked(network: Network) -> Network:
    shift = network.ip.max_prefixlen - network.prefix
    return Network(type(network.ip)(int(network.ip) >> shift << shift), network.prefix)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ip": _ip,
    "isIP": _is(parse_address),
    "ip.isCanonical": lambda text: str(_ip(text)) == text,
    "cidr": _cidr,
    "isCIDR": _is(parse_network),
    "family": _of_address(lambda ip: ip.version),
    "isUnspecified": _of_address(lambda ip: ip.is_unspecified),
    "isLoopback": _of_address(lambda ip: ip.is_loopback),
    "isLinkLocalMulticast": _of_address(_is_link_local_multicast),
    "isLinkLocalUnicast": _of_address(lambda ip: ip.is_link_local),
    "isGlobalUnicast": _of_address(_is_global_unicast),
    "containsIP": _of_network(_contains_ip),
    "containsCIDR": _of_network(_contains_cidr),
    "masked": _of_network(_masked),
    "prefixLength": _of_network(lambda network: network.prefix),
}
"""The functions by name."""
