"""Raw input files named in a definition, and the time interval of a snapshot."""

from dataclasses import dataclass
from pathlib import Path

from builder.text.names import to_valid_unicode


@dataclass(frozen=True)
class Source:
    """Raw input file or folder, with the name that messages use for it.

    Args:
        path: Path of the file or folder.
        name: Name in rejects and messages: the path as written in the definition, with non-UTF-8
            bytes escaped.
    """

    path: Path
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", to_valid_unicode(self.name))


@dataclass(frozen=True)
class Interval:
    """Half-open time interval in Unix seconds: `start <= time < stop`."""

    start: int
    stop: int

    def __contains__(self, time: int) -> bool:
        return self.start <= time < self.stop
