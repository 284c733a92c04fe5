"""The notebooks of the manual run from the first cell to the last."""

import os
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs/notebooks").glob("*.ipynb"))
NEEDED = ("nbclient", "nbformat", "ipykernel", "matplotlib", "pytrec_eval", "bm25s", "Stemmer")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in NEEDED:
        pytest.importorskip(module)
    import nbclient
    import nbformat

    folder = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("MPLBACKEND", "agg")
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_output_is_stored(path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    cells = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    assert len(cells) > 5
    assert not [c for c in cells if c.outputs or c.execution_count]
