"""Small logs, written out by hand or drawn by hypothesis."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import schemas
from builder.io.sources import Source
from builder.io.tables import Table, table_at, write_frame
from builder.runtime.limits import ResourceLimits
from builder.text.keys import fold_texts, key64

Impression = tuple[str, int | None, Sequence[int]]
"""Text as typed, user, clicked ranks."""


class Room:
    """A folder in which tables are made and stages run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.limits = ResourceLimits(scratch=folder, threads=2, memory=512 * 2**20)
        self._outputs = 0

    def out(self) -> Path:
        """A new empty output folder."""
        self._outputs += 1
        path = self.folder / f"out{self._outputs}"
        path.mkdir()
        return path

    def table(self, name: str, rows: Sequence[Any]) -> Table:
        """A table of a contract, from rows (tuples or dicts with missing values as null)."""
        contract = schemas.TABLES[name]
        folder = self.out()
        write_frame(
            pl.DataFrame(list(rows), schema=contract.dtypes(), orient="row"),
            folder / f"{name}.parquet",
            contract,
        )
        return table_at(folder, name, contract)

    def file(self, name: str, text: str | bytes) -> Source:
        """A raw file."""
        path = self.folder / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return Source(path, name)

    def log(self, shown: Sequence[Impression], results: int = 10) -> dict[str, Table]:
        """The tables `impressions` and `log_queries` of a log."""
        texts = sorted({text for text, _, _ in shown})
        folded = dict(zip(texts, fold_texts(texts), strict=True))
        impressions = [
            (
                number,
                user,
                key64(folded[text]),
                key64(text),
                [key64(f"{folded[text]} {rank}") for rank in range(1, results + 1)],
                list(clicks),
            )
            for number, (text, user, clicks) in enumerate(shown)
        ]
        queries = [(key64(t), key64(folded[t]), t, folded[t]) for t in texts]
        return {
            "impressions": self.table("impressions", impressions),
            "log_queries": self.table("log_queries", queries),
        }

    def topics(self, *labels: str) -> Table:
        """Topics whose ids are t0, t1, ...; a label may have aliases after `|`."""
        rows = [
            (f"t{number}", label.split("|")[0], label.split("|")[1:], "fr", "a test")
            for number, label in enumerate(labels)
        ]
        return self.table("topics", rows)


@pytest.fixture
def room(tmp_path: Path) -> Room:
    """A private folder with helpers."""
    return Room(tmp_path)


@pytest.fixture
def new_room(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Room]:
    """A maker of rooms, for each example of a property."""
    return lambda: Room(tmp_path_factory.mktemp("room"))


@pytest.fixture
def real_data() -> Path:
    """Real published queries beside the project, where there are any."""
    folder = Path(__file__).parents[3] / "shared" / "data"
    if not (folder / "longeval-web").is_dir():
        pytest.skip("no ../shared beside this checkout")
    return folder
