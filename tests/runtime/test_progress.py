"""The progress bar of a terminal."""

import io
from typing import Any

import pytest

from builder.runtime import progress
from builder.runtime.progress import NoProgress, ProgressBar


class Bar:
    """Notes what it is told."""

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.told: list[Any] = []

    def update(self, count: int) -> None:
        self.told.append(count)

    def close(self) -> None:
        self.told.append("closed")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_bar_is_shown_on_a_terminal_alone_and_replaced_by_the_next(
    is_terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    bars: list[Bar] = []
    monkeypatch.setattr(progress, "tqdm", lambda **options: bars.append(Bar(**options)) or bars[-1])
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: is_terminal)
    shown = ProgressBar(stream)
    shown.advance(3)
    shown.finish()
    shown.start("log 2022-06", 7, "rows")
    shown.advance(4)
    shown.start("crawl 2022-06", None, "pages")
    shown.advance(5)
    shown.finish()
    shown.advance(6)
    assert [bar.told for bar in bars] == [[4, "closed"], [5, "closed"]]
    assert bars[0].options == {
        "desc": "log 2022-06",
        "total": 7,
        "unit": " rows",
        "unit_scale": True,
        "delay": 2,
        "leave": False,
        "file": stream,
        "disable": not is_terminal,
    }


def test_no_progress_shows_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    silent = NoProgress()
    silent.start("log", 1, "rows")
    silent.advance(1)
    silent.finish()
    assert capfd.readouterr() == ("", "")
