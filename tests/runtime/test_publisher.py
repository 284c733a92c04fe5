"""One publisher: who holds a folder, what is visible when, what the disk was asked for."""

import errno
import json
import os
import subprocess
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import polars as pl
import pytest

from builder.errors import DataError
from builder.runtime import publisher
from builder.runtime.publisher import (
    canonical_json,
    check_publishable,
    has_current_checksums,
    lock_collection,
    publish_folder,
    read_manifest_or_none,
    temporary_folder,
    write_manifest,
)


def test_one_process_holds_a_folder(tmp_path: Path) -> None:
    with (
        lock_collection(tmp_path / "c"),
        pytest.raises(DataError, match="another build or import"),
        lock_collection(tmp_path / "c"),
    ):
        pass
    with lock_collection(tmp_path / "c"):
        assert (tmp_path / "c/.work/lock").is_file()


def test_a_file_system_without_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It said that another build is running."""

    def fail(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(publisher.fcntl, "flock", fail)
    with pytest.raises(DataError) as raised, lock_collection(tmp_path / "c"):
        pass
    assert str(raised.value) == (
        f"{tmp_path}/c/.work/lock: cannot lock the file (No locks available); some network file "
        "systems have no locks, so choose an --out on a local disk"
    )


def _link(target: Path) -> None:
    target.symlink_to(target.with_name("elsewhere"))


def _write_notes(target: Path) -> None:
    target.mkdir()
    (target / "notes.txt").write_text("mine")


def _write_pointer(target: Path) -> None:
    target.mkdir()
    (target / "manifest.json").write_text("version https://git-lfs.github.com/spec/v1\n")


def _lose_manifest(target: Path) -> None:
    target.mkdir()
    (target / "SHA256SUMS").touch()


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (_link, "{target}: expected a version folder, found a symbolic link; move it elsewhere"),
        (Path.touch, "{target}: expected a version folder, found a file; move it elsewhere"),
        (
            _write_notes,
            (
                "{target}: expected a version folder, found a folder without manifest.json; move "
                "it elsewhere, because a build would replace it"
            ),
        ),
        (
            _write_pointer,
            (
                "{target} is already published, but manifest.json is missing or cannot be read "
                "(the file is a Git LFS pointer); restore it, or delete the folder to publish the "
                "version again"
            ),
        ),
        (
            _lose_manifest,
            (
                "{target} is already published, but manifest.json is missing or cannot be read; "
                "restore it, or delete the folder to publish the version again"
            ),
        ),
    ],
)
def test_what_cannot_be_built_again_is_not_replaced(
    prepare: Callable[[Path], None], message: str, tmp_path: Path
) -> None:
    target = tmp_path / "1.0.0"
    prepare(target)
    with pytest.raises(DataError) as raised:
        check_publishable(target, is_draft=False)
    assert str(raised.value) == message.format(target=target)
    if prepare in (_write_pointer, _lose_manifest):
        check_publishable(target, is_draft=True)


def test_git_ignores_the_work_folder(tmp_path: Path) -> None:
    with lock_collection(tmp_path / "c"):
        pass
    (tmp_path / "c/.work/words.parquet").touch()
    (tmp_path / "c/README.md").touch()
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    status = ["git", "-C", tmp_path, "status", "--porcelain", "--untracked-files=all"]
    assert subprocess.run(status, check=True, capture_output=True).stdout == b"?? c/README.md\n"


def test_a_link_in_the_work_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "c/.work").mkdir(parents=True)
    (tmp_path / "c/.work/.gitignore").symlink_to(tmp_path / "elsewhere")
    with lock_collection(tmp_path / "c"):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    left = tmp_path / "c/.work/1.0.0.partial/x"
    left.parent.mkdir(parents=True)
    left.write_text("half")
    with lock_collection(tmp_path / "c"):
        assert not left.parent.exists()


def test_what_runs_left_is_removed_and_what_they_link_to_is_kept(tmp_path: Path) -> None:
    work = tmp_path / "c/.work"
    for folder in (tmp_path / "mine", work / "scratch/deep"):
        folder.mkdir(parents=True)
        (folder / "a").write_text("a")
    (work / "record.json.partial").touch()
    (work / "link.partial").symlink_to(tmp_path / "mine")
    (work / ".gitignore").write_text("# mine")
    with lock_collection(tmp_path / "c"):
        assert sorted(path.name for path in work.iterdir()) == [".gitignore", "lock"]
    assert (tmp_path / "mine/a").read_text() == "a"
    assert (work / ".gitignore").read_text() == "# mine"
    assert (work / "lock").stat().st_mode & 0o777 == 0o600


def test_a_work_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / ".work").symlink_to(tmp_path / "mine")
    with pytest.raises(DataError) as raised, lock_collection(tmp_path):
        pass
    assert str(raised.value) == (
        f"{tmp_path}/.work: expected a folder, found a symbolic link; remove it"
    )


@pytest.mark.parametrize(
    ("number", "is_error"), [(errno.EINVAL, False), (errno.ENOTSUP, False), (errno.EIO, True)]
)
def test_a_file_system_that_cannot_sync_is_told_from_a_broken_disk(
    number: int, is_error: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(number, "cannot sync")

    monkeypatch.setattr(publisher.os, "fsync", fail)
    with pytest.raises(OSError, match="cannot sync") if is_error else nullcontext():
        publisher._fsync_path(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    publisher._fsync_path(tmp_path / "link")
    with pytest.raises(IsADirectoryError):
        publisher.open_unless_symlink(tmp_path)


def test_a_failure_leaves_the_old_folder(tmp_path: Path) -> None:
    final = tmp_path / "1.0.0"
    final.mkdir()
    (final / "a").write_text("old")

    def fail() -> None:
        with temporary_folder(tmp_path / "new.partial") as partial:
            (partial / "a").write_text("new")
            raise ValueError("halfway")

    with pytest.raises(ValueError, match="halfway"):
        fail()
    assert (final / "a").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.0.0"]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_bytes_are_on_the_disk_before_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_exchange: bool
) -> None:
    final, synced = tmp_path / "1.0.0", []
    final.mkdir()
    (final / "gone").write_text("old")
    fsync = os.fsync

    def note(handle: int) -> None:
        assert not (final / "deep/b").exists() or Path(f"/proc/self/fd/{handle}").samefile(tmp_path)
        synced.append(Path(f"/proc/self/fd/{handle}").resolve().name)
        fsync(handle)

    monkeypatch.setattr(publisher.os, "fsync", note)
    if not can_exchange:
        monkeypatch.setattr(publisher.ctypes, "CDLL", lambda *_, **__: object())
    with temporary_folder(tmp_path / "new.partial") as partial:
        (partial / "deep").mkdir()
        (partial / "deep/b").write_text("new")
        publish_folder(partial, final)
    assert synced == ["deep", "b", "new.partial", tmp_path.name]
    assert [path.name for path in final.rglob("*")] == ["deep", "b"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.0.0"]


def test_the_manifest_names_every_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.txt").write_text("a\n")
    write_manifest(tmp_path, {"name": "x"})
    found = json.loads((tmp_path / "manifest.json").read_text())
    assert found["files"]["sub/a.txt"]["bytes"] == 2
    checked = subprocess.run(
        ["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=tmp_path, check=False
    )
    assert checked.returncode == 0


def test_equal_values_have_the_same_json() -> None:
    assert canonical_json({"b": 1, "a": "é"}) == '{\n "a": "é",\n "b": 1\n}\n'


A_SHA = "87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7"
"""SHA-256 of `a` and a newline."""


def test_what_a_manifest_and_the_checksums_say(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.txt").write_text("a\n")
    (tmp_path / "z.txt").write_text("a\n")
    pl.DataFrame({"n": [1, 2, 3]}).write_parquet(tmp_path / "t.parquet")
    write_manifest(tmp_path, {"name": "é"})
    manifest = read_manifest_or_none(tmp_path)
    assert manifest is not None
    assert list(manifest) == ["files", "name"]
    assert manifest["files"]["sub/a.txt"] == {"sha256": A_SHA, "bytes": 2}
    assert manifest["files"]["t.parquet"]["rows"] == 3
    lines = (tmp_path / "SHA256SUMS").read_text().splitlines()
    assert [line[64:] for line in lines] == [
        "  manifest.json",
        "  sub/a.txt",
        "  t.parquet",
        "  z.txt",
    ]
    assert lines[1] == f"{A_SHA}  sub/a.txt"
    files = manifest["files"]
    assert has_current_checksums(tmp_path, files)
    assert not has_current_checksums(tmp_path, {**files, "z.txt": {"sha256": "0" * 64}})
    (tmp_path / "manifest.json").write_text("{}")
    assert not has_current_checksums(tmp_path, files)
    (tmp_path / "SHA256SUMS").unlink()
    assert not has_current_checksums(tmp_path, files)


@pytest.mark.parametrize(
    ("text", "manifest"), [('{"a": 1}', {"a": 1}), ("[1]", None), ("{", None), (None, None)]
)
def test_a_manifest_that_cannot_be_read_is_none(
    text: str | None, manifest: dict[str, int] | None, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / "manifest.json").write_text(text)
    assert read_manifest_or_none(tmp_path) == manifest


@pytest.mark.parametrize("is_draft", [True, False])
def test_a_new_or_empty_folder_and_a_version_may_be_replaced(
    tmp_path: Path, is_draft: bool
) -> None:
    target = tmp_path / "1.0.0"
    check_publishable(target, is_draft=is_draft)
    target.mkdir()
    check_publishable(target, is_draft=is_draft)
    (target / "manifest.json").write_text("{}")
    check_publishable(target, is_draft=is_draft)


def test_a_temporary_folder_is_empty_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "a/new.partial"
    path.mkdir(parents=True)
    (path / "left").touch()
    with temporary_folder(path, 0o700) as folder:
        assert folder == path
        assert list(path.iterdir()) == []
        assert path.stat().st_mode & 0o777 == 0o700
    assert not path.exists()


def test_a_text_is_written_whole(tmp_path: Path) -> None:
    publisher.write_atomically(tmp_path / "a", "é\n")
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"a": b"\xc3\xa9\n"}
