"""A progress display without a display."""


class Heard:
    """A progress display that remembers what it was told."""

    def __init__(self) -> None:
        self.said: list[object] = []

    def start(self, label: str, total: int | None, unit: str) -> None:
        """Remember the start of an operation."""
        self.said.append((label, total, unit))

    def advance(self, count: int) -> None:
        """Remember how many units are done."""
        self.said.append(count)

    def finish(self) -> None:
        """Remember the end of an operation."""
        self.said.append("end")
