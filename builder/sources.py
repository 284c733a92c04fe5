"""Raw inputs as a definition names them: files, and the interval they belong to."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """A raw input file or folder.

    Args:
        path: Where it lies.
        name: How rejects and messages call it: the path as the definition writes it.
    """

    path: Path
    name: str


@dataclass(frozen=True)
class Interval:
    """A half-open interval of time, in unix seconds: `start <= t < stop`."""

    start: int
    stop: int

    def __contains__(self, time: int) -> bool:
        return self.start <= time < self.stop
