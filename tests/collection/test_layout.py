"""Where versions are found."""

from pathlib import Path

import pytest

from builder.collection.layout import find_latest_version, find_versions, version_sort_key
from builder.collection.read import open_collection
from builder.errors import FormatError, UsageError


def test_versions_are_ordered_by_number() -> None:
    versions = ["1.0.1", "1.0.0", "1.0.0-rc1", "0.10.0", "0.9.0"]
    assert sorted(versions, key=version_sort_key, reverse=True) == versions


@pytest.mark.parametrize(
    ("version", "key"),
    [
        ("1.20.3", ((1, 20, 3), True)),
        ("1.2.3-rc.4", ((1, 2, 3), False)),
        ("1.2.3rc4", ((1, 2, 3), False)),
        ("2022-06", ((2022,), False)),
        ("latest", ((), False)),
        ("1.x.3", ((1,), False)),
    ],
)
def test_numbers_of_a_version_end_at_the_first_other_character(
    version: str, key: tuple[tuple[int, ...], bool]
) -> None:
    assert version_sort_key(version) == key


def _publish(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    return folder


def test_the_highest_version_is_found(tmp_path: Path) -> None:
    _publish(tmp_path / "c/0.9.0")
    newest = _publish(tmp_path / "c/0.10.0")
    _publish(tmp_path / "c/.work/9.9.9")
    assert find_latest_version(tmp_path / "c") == newest
    assert find_latest_version(tmp_path) == newest
    assert find_latest_version(newest) == newest
    _publish(tmp_path / "c/d/e/9.9.9")
    _publish(tmp_path / "c/0.9.0/sub")
    assert find_latest_version(tmp_path) == newest
    other = _publish(tmp_path / "d/0.10.0-rc1")
    assert find_latest_version(tmp_path) == newest
    assert find_latest_version(tmp_path / "d") == other
    named = [_publish(tmp_path / "e" / name) for name in ("alpha", "beta")]
    assert find_latest_version(tmp_path / "e") == named[1]
    assert find_latest_version(tmp_path / "c/.work") == tmp_path / "c/.work/9.9.9"


def test_two_of_three_names_make_a_version(tmp_path: Path) -> None:
    for name in (
        "a/manifest.json",
        "a/snapshots/x",
        "b/0.1.0/SHA256SUMS",
        "b/0.1.0/snapshots/x",
        "b/0.2.0/manifest.json",
        "b/0.2.0/SHA256SUMS",
        "export/SHA256SUMS",
        "app/manifest.json",
        ".work/9.9.9/manifest.json",
        ".work/9.9.9/SHA256SUMS",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert find_versions(tmp_path) == [tmp_path / name for name in ("a", "b/0.1.0", "b/0.2.0")]


def test_nothing_is_found(tmp_path: Path) -> None:
    assert find_latest_version(tmp_path) is None
    assert find_latest_version(tmp_path / "none") is None
    with pytest.raises(UsageError) as raised:
        open_collection(tmp_path)
    assert str(raised.value) == (
        f"{tmp_path}: not a published collection; expected a folder with manifest.json, as written "
        "by `longeval build` or `longeval import`"
    )
    with pytest.raises(UsageError) as raised:
        open_collection(tmp_path / "none")
    assert str(raised.value) == (
        f"{tmp_path / 'none'}: no such folder; expected the folder of a published collection"
    )


def test_a_broken_manifest(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(FormatError, match="cannot read the manifest"):
        open_collection(tmp_path).name  # noqa: B018
