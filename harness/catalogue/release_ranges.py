"""The releases that have a known defect: a range of versions, as prose and for comparisons."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Releases:
    """Releases of Kubernetes, or words for those of something else."""

    first: str = ""
    """The first release with the defect; empty: it has always been there."""
    last: str = ""
    """The last one; `1.35` includes its patch releases. Empty: `words` tell."""
    is_open: bool = False
    """It is not fixed after `last`, the newest release that was looked at."""
    of: str = ""
    """The part of Kubernetes, where the defect's own part does not say it."""
    given: str = ""
    """A condition of it, such as a feature gate that is on."""
    words: str = ""
    """Instead of a range: which versions, for what is no release of Kubernetes."""

    def __str__(self) -> str:
        """Return the range as prose."""
        if self.words:
            return self.words
        span = f"{self.first} to {self.last}" if self.first else f"up to {self.last}"
        span = self.last if self.first == self.last else span
        text = f"{self.of} {span}".strip() + " and newer" * self.is_open
        return f"{text}, {self.given}" if self.given else text

    def include(self, release: str) -> bool:
        """Return whether a release, such as `1.34.2`, is in the range."""
        if self.words:
            return False
        version = _numbers(release)
        first, last = _numbers(self.first), _numbers(self.last)
        return version[: len(first)] >= first and (self.is_open or version[: len(last)] <= last)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split("."))) if version else ()


NEVER = Releases(words="none")
"""Those of a mutant."""
