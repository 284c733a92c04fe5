"""The way of a parameter from the definition file to its stage is short, and so is the pipeline."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import builder
from builder.definition.model import Definition, Workflow
from builder.parameters import SelectionParameters

ROOT = Path(builder.__file__).parent
VALUE = 7_654_321
DEFINITION = f"""
[collection]
name = "hops"
version = "0.1.0"
topics = "topics.tsv"
[[snapshots]]
name = "2022-06"
start = 2022-06-01
end = 2022-07-01
log = ["log.jsonl"]
crawl = ["crawl.jsonl"]
[log]
empty = "allow"
[select]
min_impressions = {VALUE}
"""
STAGE = "queries/selection.py select_queries"
WAY = (
    "definition/files.py _read_toml",
    "parameters/__init__.py StageParameters._validate_grading",
    "definition/files.py _validate_toml",
    "definition/files.py read_definition",
    "definition/model.py _derive_languages_and_model",
    "definition/model.py Workflow.section",
    "definition/model.py Definition.section",
    "definition/model.py Definition.load",
    "runtime/runner.py Runner._arguments",
    STAGE,
)
"""Every function that hands the parameter on, in the order in which each first does."""
ASIDE = (
    "Runner._step_identity",
    "Runner._rerun_reasons",
    "Store.read_record",
    "Store.commit",
    "<lambda>",
)
"""Functions of the fingerprint, and the settings of other stages."""
MAX_HOPS = 9
MAX_PIPELINE_LINES = 120


def _carries(value: Any) -> bool:
    """Whether a value is the parameter, or a dictionary, section or definition with it."""
    if isinstance(value, SelectionParameters):
        return value.min_impressions == VALUE
    if isinstance(value, Definition):
        return _carries(value.workflow)
    if isinstance(value, Workflow):
        return _carries(value.select)
    if isinstance(value, dict):
        return any(map(_carries, value.values()))
    return isinstance(value, int) and value == VALUE


def _is_aside(frame: FrameType | None) -> bool:
    """Whether a function runs for something that is not on the way to the stage."""
    while frame is not None:
        if frame.f_code.co_qualname in ASIDE:
            return True
        frame = frame.f_back
    return False


@contextmanager
def _traced(hops: list[str]) -> Iterator[None]:
    """Record every function of the package that returns the parameter, or a stage that gets it."""

    def record(frame: FrameType, event: str, returned: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(str(ROOT)):
            return
        value = frame.f_locals.get("params") if event == "call" else returned
        name = f"{Path(code.co_filename).relative_to(ROOT).as_posix()} {code.co_qualname}"
        if name not in hops and _carries(value) and not _is_aside(frame):
            hops.append(name)

    sys.setprofile(record)
    try:
        yield
    finally:
        sys.setprofile(None)


def test_a_parameter_reaches_its_stage_in_few_hops(tmp_path: Path) -> None:
    (tmp_path / "workflow.toml").write_text(DEFINITION)
    (tmp_path / "topics.tsv").write_text("label\neau\n")
    for name in ("log.jsonl", "crawl.jsonl"):
        (tmp_path / name).write_text("")
    hops: list[str] = []
    with _traced(hops):
        builder.build(tmp_path / "workflow.toml", tmp_path / "out", until="select")
    way = hops[: hops.index(STAGE) + 1]
    assert way == list(WAY)
    assert len(way) - 1 <= MAX_HOPS


def test_the_pipeline_fits_on_one_screen() -> None:
    assert len((ROOT / "pipeline.py").read_text("utf-8").splitlines()) <= MAX_PIPELINE_LINES
