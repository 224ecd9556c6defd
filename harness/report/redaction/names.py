"""Replaces names: each by its kind and a number, the same name by the same word."""

import re
from collections import Counter
from collections.abc import Container, Mapping

_OWN = frozenset(
    {
        *("api-server", "claim-controller", "default", "default-scheduler", "device", "devices"),
        *("flake-hunt", "kube-controller-manager", "kube-node-lease", "kube-public"),
        *("kube-scheduler", "kube-system", "kubelet", "localhost", "recorder", "root", "run"),
        *("scheduler", "template", "work"),
    }
)
"""Names that Flake Hunt and Kubernetes give, which tell nothing."""
_PUBLIC = re.compile(
    r"(?:^|\.)(?:kubernetes\.io|k8s\.io|flake-hunt\.example|flake-hunt)$|^system:|^(?:true|false|none|null|[\d.]+)?$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z0-9]+(?:[._-]+[A-Za-z0-9]+)*")
"""A name, or a word of a text."""
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_NO_VARIABLE = re.compile(r"\W", re.ASCII)
_CUTS = re.compile(r"([._-]+)")


class Numbers:
    """Numbers the names of each kind, the same name by the same number."""

    def __init__(self, separator: str = "", taken: Container[str] = ()) -> None:
        """`taken`: words that are given to none."""
        self._separator, self._taken = separator, taken
        self._counts: Counter[str] = Counter()
        self._given: dict[str, dict[str, str]] = {}

    def of(self, kind: str, name: str) -> str:
        given = self.given(kind)
        while name not in given:
            self._counts[kind] += 1
            word = f"{kind}{self._separator}{self._counts[kind]}"
            if word not in self._taken:
                given[name] = word
        return given[name]

    def given(self, kind: str) -> dict[str, str]:
        return self._given.setdefault(kind, {})


class Names:
    """Replacements of names; a name has one, whatever it names."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        """Name -> kind, in the order in which they were found."""
        self._replacements: dict[str, str] = {}
        self._words: dict[str, str] = {}
        """Word -> the word without names: computed before."""
        self._phrases: re.Pattern[str] | None = None
        self._variables: dict[str, str] = {}
        self._uids: set[str] = set()

    def add(self, kind: str, name: object) -> None:
        """Note a name of a kind; one that tells nothing is left out, as are numbers."""
        if not isinstance(name, str) or name in _OWN or is_public(name) or _UUID.fullmatch(name):
            return
        if self._kinds.setdefault(name, kind) in ("pool", "object"):
            self._kinds[name] = kind

    def keep(self, uid: object) -> None:
        if isinstance(uid, str):
            self._uids.add(uid)

    def number(self) -> None:
        """Give each name its replacement: kind and number in one word, which is no name itself."""
        for uid in self._uids:
            self._kinds.pop(uid, None)
        numbers = Numbers(taken=self._kinds)
        self._replacements = {name: numbers.of(kind, name) for name, kind in self._kinds.items()}
        self._variables = {
            _NO_VARIABLE.sub("_", name): new for name, new in self._replacements.items()
        }
        phrases = [name for name in self._kinds if not _WORD.fullmatch(name)]
        phrases.sort(key=len, reverse=True)
        if phrases:
            self._phrases = re.compile("|".join(map(re.escape, phrases)))

    def of(self, text: str) -> str:
        """Return a whole text that is a name, or several with slashes; any other as it is."""
        if text in self._replacements:
            return self._replacements[text]
        if "/" not in text or " " in text:
            return text
        return "/".join(self._replacements.get(part, part) for part in text.split("/"))

    def within(self, text: str) -> str:
        """Return a text in which each name that stands as a word of its own is replaced."""
        if text in self._replacements:
            return self._replacements[text]
        if self._phrases is not None:
            text = self._phrases.sub(lambda found: self._replacements[found[0]], text)
        return _WORD.sub(self._word, self.of(text))

    def _word(self, found: re.Match[str]) -> str:
        word = found[0]
        if word in self._uids or _UUID.fullmatch(word):
            return word
        if word not in self._words:
            self._words[word] = _without(word, self._replacements)
        return self._words[word]

    def variable(self, name: str) -> str:
        """Return the name of a variable of a container's environment without names.

        A `_` stands in it for each character that such a name cannot have.
        """
        return _without(name, self._variables)


def _without(word: str, replacements: Mapping[str, str]) -> str:
    """Return a word without the names that its parts make, the longest ones first."""
    if word in replacements:
        return replacements[word]
    parts, done, at = _CUTS.split(word), [], 0
    while at < len(parts):
        ends = range(len(parts), at, -2)
        end = next((end for end in ends if "".join(parts[at:end]) in replacements), at + 1)
        part = "".join(parts[at:end])
        done += [replacements.get(part, part), *parts[end : end + 1]]
        at = end + 1
    return "".join(done)


def is_public(name: str) -> bool:
    """Return whether a name, or the domain of one, is that of Kubernetes, a number or a truth."""
    return bool(_PUBLIC.search(name))
