"""Every reader of the field that is installed loads what we export."""

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import yaml

from builder import BuildReport
from builder.collection.export import export
from builder.collection.export.numeric_ids import assign_query_numbers
from builder.errors import UsageError
from tests.readers.loaders import LOADERS, Exports, export_all


@pytest.fixture(scope="module")
def exports(built: BuildReport, tmp_path_factory: pytest.TempPathFactory) -> Exports:
    return export_all(built.root, tmp_path_factory.mktemp("exports"))


@pytest.mark.parametrize("loader", LOADERS, ids=lambda loader: loader.__name__)
def test_a_reader_loads(loader: Callable[[Exports], dict[str, int]], exports: Exports) -> None:
    try:
        found = loader(exports)
    except ImportError as error:
        pytest.skip(f"{error.name} is not installed")
    assert found == {key: exports.sizes[key] for key in found}


def test_the_card_for_hugging_face(exports: Exports) -> None:
    folder = exports.folders["huggingface"]
    _, front, body = (folder / "README.md").read_text("utf-8").split("---\n", 2)
    described = yaml.safe_load(front)
    licence = exports.collection.manifest["definition"]["collection"]["licence"]
    assert (described["license"], described["license_name"]) == ("other", licence)
    names = [config["config_name"] for config in described["configs"]]
    assert names == ["documents", "queries", "qrels", "topics", "queries_map"]
    for config in described["configs"]:
        files = config["data_files"]
        for pattern in [files] if isinstance(files, str) else [f["path"] for f in files]:
            assert list(folder.glob(pattern)), pattern
    for named in re.findall(r"`([\w.-]+/|[\w-]+\.(?:parquet|json)|SHA256SUMS)`", body):
        assert (folder / named).exists(), named


def test_numbers_of_queries_fit_32_bits() -> None:
    ids = pl.Series([f"q{n:016x}" for n in (0, 1, 2**33, 2**33 + 5, 2**64 - 1)])
    numbers = dict(assign_query_numbers(ids).iter_rows())
    assert list(numbers.values()) == [0, 1, 2, 3, 2**31 - 1]
    assert all(0 <= number < 2**31 for number in numbers.values())
    assert assign_query_numbers(ids.reverse()).equals(assign_query_numbers(ids))
    own = pl.Series(["7", "12"])
    assert assign_query_numbers(own).sort("number").rows() == [("7", 7), ("12", 12)]
    mixed = assign_query_numbers(pl.Series(["7", "q06223196"]))
    assert mixed["number"].n_unique() == 2


@pytest.mark.parametrize("out", [".", "..", "/"])
def test_an_export_into_the_working_folder_is_refused(
    out: str, built: BuildReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="cannot export to the current folder"):
        export(built.root, "trec", out)
    assert built.version is not None
    with pytest.raises(UsageError, match="cannot export to the current folder"):
        export(built.root, "trec", built.version / "more")
