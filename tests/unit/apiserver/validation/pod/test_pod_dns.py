"""DNS configuration and host aliases of pods."""

from typing import Any

import pytest

from harness.apiserver.validation.pod import pod_dns

Document = dict[str, Any]

DNS = [
    ({"nameservers": ["1.2.3.4", "::1"], "searches": ["a.b", "_x.y.", "."]}, []),
    ({"nameservers": ["1.2.3"]}, [("spec.dnsConfig.nameservers[0]", "Invalid")]),
    ({"nameservers": ["1.1.1.1"] * 4}, [("spec.dnsConfig.nameservers", "Invalid")]),
    ({"searches": ["A"]}, [("spec.dnsConfig.searches[0]", "Invalid")]),
    ({"searches": ["a"] * 33}, [("spec.dnsConfig.searches", "Invalid")]),
    ({"options": [{"value": "1"}]}, [("spec.dnsConfig.options[0]", "Required")]),
]


@pytest.mark.parametrize(("config", "wrong"), DNS)
def test_name_servers(fields: Any, config: Document, wrong: list[Any]) -> None:
    assert fields(pod_dns.dns_config({"dnsConfig": config})) == wrong


def test_who_wants_no_name_servers_brings_some(fields: Any) -> None:
    spec: Document = {"dnsPolicy": "None"}
    assert fields(pod_dns.dns_config(spec)) == [("spec.dnsConfig", "Required")]
    wrong = [("spec.dnsConfig.nameservers", "Required")]
    assert fields(pod_dns.dns_config(spec | {"dnsConfig": {}})) == wrong


def test_aliases(fields: Any) -> None:
    found = [{"ip": "1.2.3.4", "hostnames": ["a.b"]}, {"ip": "x", "hostnames": ["a", "B"]}]
    wrong = [("h[1].ip", "Invalid"), ("h[1].hostnames[1]", "Invalid")]
    assert fields(pod_dns.host_aliases(found, "h")) == wrong
