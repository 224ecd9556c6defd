"""Recognizes errors of status writes of claims whose answers were lost."""

import re

from harness.log_analysis.log_records import LogRecord

_WRITE = re.compile(
    r"\b(?:put|patch) \"?[^\s\"]*/namespaces/([^/\s\"]+)/resourceclaims/([^/\s\"?:]+)/status"
    r"|\((?:put|patch) resourceclaims\.resource\.k8s\.io ([^)\s]+)\)",
    re.I,
)
"""A write of a claim's status in the text of an error: with its URL, or as the API server says."""
_NOT_LOST = (
    *("the object has been modified", "dial tcp", "connection refused", "no route to host"),
    *("no such host", "TLS handshake"),
)
"""Texts of errors of a write that was refused, or that was not sent; they count first."""
_LOST = (
    *("context deadline exceeded", "Client.Timeout", "i/o timeout", "request canceled"),
    *("connection reset", "broken pipe", "EOF", "connection lost", "GOAWAY"),
    *("use of closed network connection", "request timed out", "leader changed"),
    *("request did not complete", "unable to return a response in the time allotted"),
    *("no complete response", "no answer came"),
)


def claim(record: LogRecord) -> str:
    """Return the claim whose status write got no answer, as `namespace/name`; empty: none is known.

    The namespace is that of the pod if the error has none.
    """
    text = record.value("err")
    write = _WRITE.search(text)
    if write is None:
        return ""
    error = text[write.end() if write[1] else 0 :]
    if any(part in error for part in _NOT_LOST) or not any(part in error for part in _LOST):
        return ""
    if write[1]:
        return f"{write[1]}/{write[2]}"
    namespace = record.value("pod").partition("/")[0]
    return f"{namespace}/{write[3]}" if namespace else ""
