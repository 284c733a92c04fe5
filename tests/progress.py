"""A progress display that records the operations it is given."""

Step = tuple[str, int | None, str, list[int]]
"""Label, total and unit of an operation, and the counts by which it advanced."""


class Steps:
    """Operations in the order of their start; `open` is that which has not finished."""

    def __init__(self) -> None:
        self.done: list[Step] = []
        self.open: Step | None = None

    def start(self, label: str, total: int | None, unit: str) -> None:
        assert self.open is None
        self.open = (label, total, unit, [])
        self.done.append(self.open)

    def advance(self, count: int) -> None:
        if self.open is None:
            self.start("", None, "")
        assert self.open is not None
        self.open[3].append(count)

    def finish(self) -> None:
        assert self.open is not None
        self.open = None
