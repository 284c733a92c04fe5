"""Raw inputs as a definition names them: files, and the interval they belong to."""

from dataclasses import dataclass
from pathlib import Path

from builder.text.names import written


@dataclass(frozen=True)
class Source:
    """A raw input file or folder.

    Args:
        path: Where it lies.
        name: How rejects and messages call it: the path as the definition writes it, with bytes
            that are no UTF-8 by their numbers.
    """

    path: Path
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", written(self.name))


@dataclass(frozen=True)
class Interval:
    """A half-open interval of time, in unix seconds: `start <= t < stop`."""

    start: int
    stop: int

    def __contains__(self, time: int) -> bool:
        return self.start <= time < self.stop
