"""What planning costs: every raw file is looked at once, the identity of every step once."""

from collections import Counter
from pathlib import Path

import pytest

import builder
from builder.io.sources import Source
from builder.runtime import runner, store
from builder.runtime.store import InputHashes


@pytest.mark.parametrize("files", [50, 100])
def test_a_file_is_looked_at_once(
    files: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: Counter[str] = Counter()
    stat, digest = Path.stat, store.sha256

    def counted_stat(path: Path, **options: bool) -> object:
        calls["stat"] += path.suffix == ".raw"
        return stat(path, **options)

    def counted_digest(path: Path) -> str:
        calls["sha256"] += 1
        return digest(path)

    sources = [Source(tmp_path / f"{n}.raw", f"{n}.raw") for n in range(files)]
    for source in sources:
        source.path.write_text(source.name)
    monkeypatch.setattr(Path, "stat", counted_stat)
    monkeypatch.setattr(store, "sha256", counted_digest)
    first = InputHashes(tmp_path / "inputs.jsonl").hash_files(sources)
    assert calls["sha256"] == files
    assert calls["stat"] <= 2 * files
    assert InputHashes(tmp_path / "inputs.jsonl").hash_files(sources) == first
    assert calls["sha256"] == files
    assert calls["stat"] <= 4 * files
    assert len((tmp_path / "inputs.jsonl").read_text().split()) == 6 * files


def test_the_identity_of_a_step_is_computed_once(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: Counter[str] = Counter()
    step_identity = runner.step_identity

    def counted(definition, saved, stage, key, producer_by_table):  # type: ignore[no-untyped-def]
        calls[f"{stage.name} {key}"] += 1
        return step_identity(definition, saved, stage, key, producer_by_table)

    monkeypatch.setattr(runner, "step_identity", counted)
    report = builder.build(world / "workflow.toml", tmp_path / "c", until="log")
    assert calls == {str(result.step): 1 for result in report.results}
    assert len(calls) == len(report.results) > 2
