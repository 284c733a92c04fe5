"""Functions that record what a command passes to them, and a collection without files."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.cli.passed_options.recorder import Calls, Recorder


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Replaces a function by one that records its arguments and returns a given result."""

    def replace(name: str, result: Any = None) -> Calls:
        calls: Calls = []

        def record(*arguments: Any, **options: Any) -> Any:
            calls.append((arguments, options))
            return result

        monkeypatch.setattr(name, record)
        return calls

    return replace


@pytest.fixture
def collection(recorded: Recorder, tmp_path: Path) -> Any:
    """A collection of three snapshots, as `open_collection` returns it."""
    snapshots = {
        name: SimpleNamespace(
            name=name,
            folder=tmp_path / name,
            queries=f"queries of {name}",
            documents=f"documents of {name}",
            qrels=f"qrels of {name}",
            document_files=lambda name=name: [f"{name}.parquet"],
        )
        for name in ("2022-06", "2022-07", "2022-08")
    }
    opened = SimpleNamespace(
        path=tmp_path,
        snapshots=tuple(snapshots),
        snapshot=snapshots.__getitem__,
        languages={"fr": ""},
        resolve_language=lambda language: (language or "fr", "_en" if language else ""),
    )
    recorded("builder.collection.read.open_collection", opened)
    return opened
