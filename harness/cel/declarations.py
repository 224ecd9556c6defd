"""The CEL environment of device selectors: the declarations that expressions are checked against.

After k8s.io/dynamic-resource-allocation/cel and k8s.io/apiserver/pkg/cel/environment, as of
Kubernetes 1.36.
"""

import functools
import json
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional

FIELDS = ("driver", "attributes", "capacity", "allowMultipleAllocations")
"""The fields of `device`; all are always set."""
TYPE_NAMES = ("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver", "kubernetes.URL")
"""The types that expressions can name, as in `type(x) == net.IP`."""
_VARIABLES = {
    "device": "map<string,dyn>",
    "device.driver": "string",
    "device.attributes": "map<string,map<string,dyn>>",
    "device.capacity": "map<string,map<string,kubernetes.Quantity>>",
    "device.allowMultipleAllocations": "bool",
    **{name: f"type<{name}>" for name in TYPE_NAMES},
}
_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_NUMERIC = ("int", "uint", "double")
_FORMATS = (
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
)
_NAMESPACES = ("sets.", "strings.", "format.", "ip.")
_OPERATORS = ("_\\<_", "_\\<=_", "_\\>_", "_\\>=_")
_FUNCTIONS = """
quantity(string) kubernetes.Quantity
isQuantity(string) bool
kubernetes.Quantity.sign() int
kubernetes.Quantity.isInteger() bool
kubernetes.Quantity.asInteger() int
kubernetes.Quantity.asApproximateFloat() double
kubernetes.Quantity.add(kubernetes.Quantity) kubernetes.Quantity
kubernetes.Quantity.add(int) kubernetes.Quantity
kubernetes.Quantity.sub(kubernetes.Quantity) kubernetes.Quantity
kubernetes.Quantity.sub(int) kubernetes.Quantity
kubernetes.Quantity.isGreaterThan(kubernetes.Quantity) bool
kubernetes.Quantity.isLessThan(kubernetes.Quantity) bool
kubernetes.Quantity.compareTo(kubernetes.Quantity) int
semver(string) kubernetes.Semver
semver(string,bool) kubernetes.Semver
isSemver(string) bool
isSemver(string,bool) bool
kubernetes.Semver.major() int
kubernetes.Semver.minor() int
kubernetes.Semver.patch() int
kubernetes.Semver.isGreaterThan(kubernetes.Semver) bool
kubernetes.Semver.isLessThan(kubernetes.Semver) bool
kubernetes.Semver.compareTo(kubernetes.Semver) int
string.charAt(int) string
string.indexOf(string) int
string.indexOf(string,int) int
string.lastIndexOf(string) int
string.lastIndexOf(string,int) int
string.lowerAscii() string
string.upperAscii() string
string.replace(string,string) string
string.replace(string,string,int) string
string.split(string) list<string>
string.split(string,int) list<string>
string.substring(int) string
string.substring(int,int) string
string.trim() string
string.format(list<dyn>) string
list<string>.join() string
list<string>.join(string) string
strings.quote(string) string
string.find(string) string
string.findAll(string) list<string>
string.findAll(string,int) list<string>
list<~A>.indexOf(~A) int
list<~A>.lastIndexOf(~A) int
sets.contains(list<~A>,list<~A>) bool
sets.equivalent(list<~A>,list<~A>) bool
sets.intersects(list<~A>,list<~A>) bool
url(string) kubernetes.URL
isURL(string) bool
kubernetes.URL.getScheme() string
kubernetes.URL.getHost() string
kubernetes.URL.getHostname() string
kubernetes.URL.getPort() string
kubernetes.URL.getEscapedPath() string
kubernetes.URL.getQuery() map<string,list<string>>
ip(string) net.IP
isIP(string) bool
ip.isCanonical(string) bool
net.IP.family() int
net.IP.isUnspecified() bool
net.IP.isLoopback() bool
net.IP.isLinkLocalMulticast() bool
net.IP.isLinkLocalUnicast() bool
net.IP.isGlobalUnicast() bool
cidr(string) net.CIDR
isCIDR(string) bool
net.CIDR.containsIP(net.IP) bool
net.CIDR.containsIP(string) bool
net.CIDR.containsCIDR(net.CIDR) bool
net.CIDR.containsCIDR(string) bool
net.CIDR.ip() net.IP
net.CIDR.masked() net.CIDR
net.CIDR.prefixLength() int
format.named(string) optional_type<kubernetes.NamedFormat>
kubernetes.NamedFormat.validate(string) optional_type<list<string>>
"""
_LIST_ATTRIBUTES = "dyn.includes(dyn) bool"
"""The function of the feature gate DRAListTypeAttributes."""
_PAIRS = """
list<~A>.__pairs() list<pair<int,~A>>
map<~A,~B>.__pairs() list<pair<~A,~B>>
pair<~A,~B>.__first() ~A
pair<~A,~B>.__second() ~B
__pair(~A,~B) pair<~A,~B>
list<pair<~A,~B>>.__map() map<~A,~B>
list<map<~A,~B>>.__merged() map<~A,~B>
"""
"""The functions to which `rewriting` reduces macros with two variables."""


@functools.cache
def environment(*, with_lists: bool) -> Any:
    """Return the environment that compiles expressions; `with_lists` if attributes can be lists."""
    config = cel.NewEnvConfigFromYaml(_configuration(with_lists))
    return cel.NewEnv(
        config=config, extensions=[ext_optional.ExtOptional(), ext_bindings.ExtBindings()]
    )


def _configuration(with_lists: bool) -> str:  # noqa: FBT001
    excluded = [*(name.replace("\\", "") for name in _OPERATORS), "string"]
    lines = [*_lines(), *[_LIST_ATTRIBUTES] * with_lists]
    configuration = {
        "stdlib": {"exclude_functions": [{"name": name} for name in excluded]},
        "variables": [{"name": name, "type": kind} for name, kind in _VARIABLES.items()],
        "functions": [
            {"name": name, "overloads": overloads} for name, overloads in _overloads(lines).items()
        ],
    }
    return json.dumps(configuration)  # which is YAML


def _overloads(lines: list[str]) -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    for line in lines:
        signature, result = line.rsplit(" ", 1)
        overload = {"signature": _escaped(signature), "return": result}
        found.setdefault(_name(signature), []).append(overload)
    return found


def _lines() -> list[str]:
    lines = [*_FUNCTIONS.split("\n"), *_PAIRS.split("\n")]
    lines += [f"format.{name}() kubernetes.NamedFormat" for name in _FORMATS]
    lines += [f"list<{kind}>.isSorted() bool" for kind in _COMPARABLE]
    lines += [f"list<{kind}>.sum() {kind}" for kind in (*_NUMERIC, "duration")]
    lines += [f"list<{kind}>.{name}() {kind}" for name in ("min", "max") for kind in _COMPARABLE]
    pairs = [(kind, kind) for kind in _COMPARABLE]
    pairs += [(one, other) for one in _NUMERIC for other in _NUMERIC if one != other]
    lines += [f"{name}({one},{other}) bool" for name in _OPERATORS for one, other in pairs]
    lines += [f"string({kind}) string" for kind in (*_COMPARABLE, "net.IP", "net.CIDR")]
    return [line for line in lines if line]


def _name(signature: str) -> str:
    """Return the function's name in a signature: namespaces belong to it, targets do not."""
    head = signature[: signature.index("(", 1)]
    if head.startswith(_NAMESPACES):
        return head
    return head.rsplit(".", 1)[-1].replace("\\", "")


def _escaped(signature: str) -> str:
    return signature.replace(".", "\\.", 1) if signature.startswith(_NAMESPACES) else signature
