"""Reads a page as a browser would: which tags, attributes and texts there are."""

import base64
import dataclasses
import hashlib
import html.parser

VOID = {"meta", "link", "img", "br", "hr", "input", "base"}


@dataclasses.dataclass(slots=True)
class Page:
    tags: list[str] = dataclasses.field(default_factory=list)
    attributes: list[tuple[str, str, str]] = dataclasses.field(default_factory=list)
    """tag, attribute, value"""
    texts: list[str] = dataclasses.field(default_factory=list)
    scripts: list[str] = dataclasses.field(default_factory=list)
    """The content of all scripts."""
    unbalanced: list[str] = dataclasses.field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.texts)


class _Parser(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.page.tags.append(tag)
        self.page.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.page.tags.append(tag)
        self.page.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.page.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            self.page.scripts.append(data)
        elif data.strip():
            self.page.texts.append(data)

    def done(self) -> Page:
        self.page.unbalanced += self._open
        return self.page


def has_only_own_script(page: Page) -> bool:
    """Return whether the page has one script at most, named by its security policy."""
    policies = [value for tag, name, value in page.attributes if (tag, name) == ("meta", "content")]
    digests = [
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        for script in page.scripts
    ]
    allowed = [
        digest for digest in digests if any(f"'sha256-{digest}'" in item for item in policies)
    ]
    return page.tags.count("script") == len(page.scripts) == len(allowed) <= 1


def read(text: str) -> Page:
    parser = _Parser()
    parser.feed(text)
    parser.close()
    return parser.done()
