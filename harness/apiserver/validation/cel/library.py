"""Declarations of the functions that Kubernetes adds to CEL, and of the fields of `device`."""

import re
from typing import Any

from cel_expr_python import cel

_TYPE = cel.Type
QUANTITY = _TYPE.AbstractType("kubernetes.Quantity")
_SEMVER = _TYPE.AbstractType("kubernetes.Semver")
_PROPERTIES = _TYPE.Map(_TYPE.STRING, _TYPE.DYN)
DEVICE_FIELDS: dict[str, Any] = {
    "driver": _TYPE.STRING,
    "allowMultipleAllocations": _TYPE.BOOL,
    "attributes": _TYPE.Map(_TYPE.STRING, _PROPERTIES),
    "capacity": _TYPE.Map(_TYPE.STRING, _TYPE.Map(_TYPE.STRING, QUANTITY)),
}
_TYPES: dict[str, Any] = {
    "bool": _TYPE.BOOL,
    "int": _TYPE.INT,
    "double": _TYPE.DOUBLE,
    "string": _TYPE.STRING,
    "dyn": _TYPE.DYN,
    "list": _TYPE.List(_TYPE.DYN),
    "strings": _TYPE.List(_TYPE.STRING),
    "texts": _TYPE.Map(_TYPE.STRING, _TYPE.List(_TYPE.STRING)),
    "Quantity": QUANTITY,
    "Semver": _SEMVER,
    "URL": _TYPE.AbstractType("kubernetes.URL"),
    "IP": _TYPE.AbstractType("net.IP"),
    "CIDR": _TYPE.AbstractType("net.CIDR"),
    "Format": _TYPE.AbstractType("kubernetes.NamedFormat"),
    # Optional types: the binding does not take a declared one for that of its own functions.
    "Format?": _TYPE.DYN,
    "strings?": _TYPE.DYN,
}
_LIST_ATTRIBUTES = """
dyn .includes(dyn) bool
"""
"""Functions of the feature gate DRAListTypeAttributes."""
_SIGNATURE = re.compile(r"(?:(\S+) \.)?([\w.]+)\(([^)]*)\) (\S+)")
_SIGNATURES = """
quantity(string) Quantity
isQuantity(string) bool
Quantity .sign() int
Quantity .isInteger() bool
Quantity .asInteger() int
Quantity .asApproximateFloat() double
Quantity .add(Quantity) Quantity
Quantity .add(int) Quantity
Quantity .sub(Quantity) Quantity
Quantity .sub(int) Quantity
Quantity .isGreaterThan(Quantity) bool
Quantity .isLessThan(Quantity) bool
Quantity .compareTo(Quantity) int
semver(string) Semver
semver(string,bool) Semver
isSemver(string) bool
isSemver(string,bool) bool
Semver .major() int
Semver .minor() int
Semver .patch() int
Semver .isGreaterThan(Semver) bool
Semver .isLessThan(Semver) bool
Semver .compareTo(Semver) int
string .charAt(int) string
string .indexOf(string) int
string .indexOf(string,int) int
string .lastIndexOf(string) int
string .lastIndexOf(string,int) int
string .lowerAscii() string
string .upperAscii() string
string .replace(string,string) string
string .replace(string,string,int) string
string .split(string) strings
string .split(string,int) strings
string .substring(int) string
string .substring(int,int) string
string .trim() string
string .format(list) string
strings .join() string
strings .join(string) string
strings.quote(string) string
string .find(string) string
string .findAll(string) strings
string .findAll(string,int) strings
list .isSorted() bool
list .sum() dyn
list .min() dyn
list .max() dyn
list .indexOf(dyn) int
list .lastIndexOf(dyn) int
sets.contains(list,list) bool
sets.equivalent(list,list) bool
sets.intersects(list,list) bool
url(string) URL
isURL(string) bool
URL .getScheme() string
URL .getHost() string
URL .getHostname() string
URL .getPort() string
URL .getEscapedPath() string
URL .getQuery() texts
ip(string) IP
isIP(string) bool
ip.isCanonical(string) bool
IP .family() int
IP .isUnspecified() bool
IP .isLoopback() bool
IP .isLinkLocalMulticast() bool
IP .isLinkLocalUnicast() bool
IP .isGlobalUnicast() bool
cidr(string) CIDR
isCIDR(string) bool
CIDR .containsIP(IP) bool
CIDR .containsIP(string) bool
CIDR .containsCIDR(CIDR) bool
CIDR .containsCIDR(string) bool
CIDR .ip() IP
CIDR .masked() CIDR
CIDR .prefixLength() int
format.dns1123Label() Format
format.dns1123Subdomain() Format
format.dns1035Label() Format
format.qualifiedName() Format
format.dns1123LabelPrefix() Format
format.dns1123SubdomainPrefix() Format
format.dns1035LabelPrefix() Format
format.labelValue() Format
format.uri() Format
format.uuid() Format
format.byte() Format
format.date() Format
format.datetime() Format
format.named(string) Format?
Format .validate(string) strings?
"""


def declarations(*, with_lists: bool) -> list[Any]:
    """Return the function declarations. They have no implementation: nothing is evaluated.

    `with_lists` says whether attributes can be lists.
    """
    signatures = _SIGNATURES + (_LIST_ATTRIBUTES if with_lists else "")
    overloads: dict[str, list[Any]] = {}
    for line in filter(None, signatures.splitlines()):
        name, overload = _overload(line)
        overloads.setdefault(name, []).append(overload)
    return [cel.FunctionDecl(name, declared) for name, declared in overloads.items()]


def _overload(line: str) -> tuple[str, Any]:
    signature = _SIGNATURE.fullmatch(line)
    if signature is None:
        raise ValueError(f"expected `target .name(types) type`, got {line!r}")
    target, name, parameters, result = signature.groups()
    words = [word for word in (target, *parameters.split(",")) if word]
    key = "_".join([name, *words])
    types = [_TYPES[word] for word in words]
    return name, cel.Overload(key, _TYPES[result], types, bool(target))
