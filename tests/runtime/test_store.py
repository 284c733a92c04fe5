"""What the store of a collection remembers of raw files, and what that costs."""

import errno
import os
import re
import stat
from collections import Counter
from pathlib import Path
from typing import NoReturn

import polars as pl
import pytest

import builder
from builder.errors import DataError, FormatError, SchemaError
from builder.io.sources import Source
from builder.io.tables import Table
from builder.runtime import runner as run
from builder.runtime import store
from builder.runtime.store import InputHashes, Store, check_columns
from schemas import Impressions, LogUrls

DEFINITION = """
[collection]
name = "many-files"
version = "0.1.0"
topics = "topics.tsv"
[[snapshots]]
name = "2022-06"
start = 2022-06-01
end = 2022-07-01
log = ["logs"]
crawl = ["logs"]
"""
LINE = '{"time": 1654300000, "query": "eau", "results": ["https://a.example/"], "clicks": [1]}\n'


def _world(folder: Path, files: int) -> Path:
    """A definition whose log is a folder of small files."""
    (folder / "logs").mkdir(parents=True)
    for number in range(files):
        (folder / f"logs/{number:03}.jsonl").write_text(LINE.replace("eau", f"eau {'x' * number}"))
    (folder / "topics.tsv").write_text("label\neau\n")
    (folder / "workflow.toml").write_text(DEFINITION)
    return folder / "workflow.toml"


def _calls(monkeypatch: pytest.MonkeyPatch, definition: Path) -> Counter[str]:
    """How often a build up to the log hashes, syncs files to disk and makes identities."""
    calls: Counter[str] = Counter()
    with monkeypatch.context() as patch:
        for module, name in ((store, "sha256"), (os, "fsync"), (run, "step_identity")):
            plain = getattr(module, name)

            def counted(*arguments: object, _name: str = name, _plain: object = plain) -> object:
                calls[_name] += 1
                return _plain(*arguments)  # type: ignore[operator]

            patch.setattr(module, name, counted)
        builder.build(definition, definition.parent / "out", until="log")
    return calls


def test_the_cost_of_a_file_does_not_depend_on_how_many_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, many = (_calls(monkeypatch, _world(tmp_path / str(n), n)) for n in (2, 30))
    assert many["fsync"] == few["fsync"]
    assert many["sha256"] - few["sha256"] == 28
    assert many["step_identity"] == 2  # topics and the log, once each


def _sources(folder: Path, *texts: str) -> list[Source]:
    for number, text in enumerate(texts):
        (folder / str(number)).write_text(text)
    return [Source(folder / str(number), str(number)) for number in range(len(texts))]


def test_hashes_are_remembered_until_a_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "inputs.jsonl"
    files = _sources(tmp_path, "a", "b", "c")
    first = InputHashes(path).hash_files(files)
    (tmp_path / "1").write_text("longer")
    hashed = []
    monkeypatch.setattr(store, "sha256", lambda path: hashed.append(path.name) or "new")
    assert InputHashes(path).hash_files(files) == [first[0], "new", first[2]]
    assert InputHashes(path).hash_files(files) == [first[0], "new", first[2]]
    assert hashed == ["1"]


def test_an_unfinished_line_costs_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "inputs.jsonl"
    files = _sources(tmp_path, "a", "b", "c")
    wanted = InputHashes(path).hash_files(files[:2])
    path.write_text(path.read_text()[:-9])
    wanted += InputHashes(path).hash_files(files[1:])[1:]
    monkeypatch.setattr(store, "sha256", lambda _: pytest.fail("hashed again"))
    assert InputHashes(path).hash_files(files) == wanted


def test_lines_that_are_no_hashes_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "inputs.jsonl"
    path.write_text('5\nnull\n[]\n{}\n"x"\n')
    files = _sources(tmp_path, "a")
    assert InputHashes(path).hash_files(files) == [store.sha256(tmp_path / "0")]


def test_an_input_file_that_git_did_not_fetch_is_named(tmp_path: Path) -> None:
    """Its three lines were rejected as `not_json`."""
    files = _sources(tmp_path, "a", "version https://git-lfs.github.com/spec/v1\noid sha256:ab\n")
    with pytest.raises(FormatError) as raised:
        InputHashes(tmp_path / "inputs.jsonl").hash_files(files)
    assert str(raised.value) == (
        f"{tmp_path}/1: the file is a Git LFS pointer; fetch the file with `git lfs pull`; in "
        "GitHub Actions, check out with `lfs: true`"
    )


def test_hashes_need_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`build --explain` was an error for a collection in a read-only folder."""

    def fail(path: Path) -> NoReturn:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(store, "open_unless_symlink", fail)
    files = _sources(tmp_path, "a")
    found = InputHashes(tmp_path / "inputs.jsonl").hash_files(files)
    assert found == [store.sha256(tmp_path / "0")]


def test_what_lies_behind_a_link_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("mine")
    (tmp_path / "inputs.jsonl").symlink_to(tmp_path / "other")
    with pytest.raises(DataError, match="found a symbolic link"):
        InputHashes(tmp_path / "inputs.jsonl").hash_files(_sources(tmp_path, "a"))
    assert (tmp_path / "other").read_text() == "mine"


def test_nothing_is_written_before_there_is_a_collection(tmp_path: Path) -> None:
    found = Store(tmp_path / "none").input_hashes(_sources(tmp_path, "a"))
    assert found == {"0": store.sha256(tmp_path / "0")}
    assert not (tmp_path / "none").exists()


def test_folders_of_outputs_are_private(tmp_path: Path) -> None:
    store_of_outputs = Store(tmp_path)
    with store_of_outputs.output_folder("log", "2022-06", "abc") as out:
        (out / "documents").mkdir(mode=0o755)
    home = tmp_path / ".work/log/2022-06/abc"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (home, home / "documents")] == [0o700] * 2


def test_a_table_that_was_not_built(tmp_path: Path) -> None:
    message = f"{tmp_path}/.work/log/2022-06: the outputs of this stage are missing; build again"
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        Store(tmp_path).open_table("log", "2022-06", "impressions", Impressions)


def _save(saved: Store, name: str, text: str) -> None:
    with saved.output_folder("log", "2022-06", name) as out:
        (out / "a").write_text(text)
    digest = store.sha256(tmp := saved.work / "log/2022-06" / name / "a")
    files = {"a": {"sha256": digest, "bytes": tmp.stat().st_size}}
    saved.save_record("log", "2022-06", {"id": name, "files": files})


def test_outputs_are_valid_until_a_file_changes_its_size_or_bytes(tmp_path: Path) -> None:
    saved = Store(tmp_path)
    assert saved.read_record("log", "2022-06") is None
    assert not saved.has_intact_files("log", "2022-06")
    _save(saved, "first", "abc")
    _save(saved, "second", "abc")
    home = tmp_path / ".work/log/2022-06"
    assert sorted(path.name for path in home.iterdir()) == ["record.json", "second"]
    assert (saved.read_record("log", "2022-06") or {})["id"] == "second"
    assert saved.has_intact_files("log", "2022-06")
    (home / "second/a").write_text("abd")
    assert Store(tmp_path).read_record("log", "2022-06") is not None
    assert not Store(tmp_path).has_intact_files("log", "2022-06")
    (home / "second/a").write_text("abcd")
    assert Store(tmp_path).read_record("log", "2022-06") is None
    (home / "second/a").unlink()
    assert Store(tmp_path).read_record("log", "2022-06") is None
    saved.delete_record("log", "2022-06")
    saved.delete_record("log", "2022-06")
    assert [path.name for path in home.iterdir()] == ["second"]
    assert saved.cache_folder("translate") == tmp_path / ".work/kept/translate"
    assert saved.cache_folder("translate").is_dir()


def test_a_table_with_other_columns_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    with pytest.raises(SchemaError) as caught:
        check_columns(Table((), LogUrls), "urls")
    assert str(caught.value) == "table urls: expected a Parquet file, found none"
    pl.DataFrame({"doc": [1], "url": ["a"]}).write_parquet(path)
    with pytest.raises(SchemaError) as caught:
        check_columns(Table((path,), LogUrls), "urls")
    assert str(caught.value) == (
        f"{path}: table urls has the columns doc int64, url large_string; expected doc uint64, "
        "url_key string, url string"
    )
