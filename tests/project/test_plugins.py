"""The example package, found as an installed one is."""

import shutil
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import builder
from builder import BuildReport
from builder.clicks.models import get_fit_function
from builder.collection.validate import validate
from builder.commands.doctor import doctor
from builder.errors import UsageError
from builder.evaluation.measures.registry import parse_measure
from builder.ingest.logs.formats import read_impressions
from builder.io.sources import Interval, Source
from builder.parameters import LogParameters, TranslationParameters
from builder.plugins import describe_package, find_plugins, load_plugin, plugin_packages
from builder.queries.plugins import load_plugins
from builder.runtime.limits import ResourceLimits
from builder.translation import translate_texts

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "plugin"


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example where packages are looked for, with the metadata of an installed one."""
    import tomllib

    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    home = tmp_path / "site"
    info = home / "longeval_example-1.0.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: longeval-example\nVersion: 1.0.0\n"
    )
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    shutil.copy(EXAMPLE / "longeval_example.py", home)
    monkeypatch.syspath_prepend(str(home))
    monkeypatch.delitem(sys.modules, "longeval_example", raising=False)
    return home


def test_nothing_is_loaded_before_it_is_asked_for(example: Path) -> None:
    assert list(find_plugins("checks")) == ["questions"]
    assert "longeval_example" not in sys.modules
    assert load_plugin("checks", "questions").id == "EX101"


def test_a_check_runs_with_the_others(example: Path, built: BuildReport) -> None:
    assert validate(built.root) == []
    assert validate(built.root, select=("EX101",)) == []
    with pytest.raises(UsageError, match="no check matches 'EX102'"):
        validate(built.root, select=("EX102",))


def test_a_click_model_has_a_name(example: Path) -> None:
    assert get_fit_function("top-only").__name__ == "top_only"
    with pytest.raises(UsageError, match="unknown click model 'top-onli'; did you mean 'top-only'"):
        get_fit_function("top-onli")


def test_verdicts_are_asked_for_by_name(example: Path, world: Path, tmp_path: Path) -> None:
    (plugin,) = load_plugins(["shouting"])
    assert plugin.version == "1"
    for name in ("logs", "crawls", "topics.tsv"):
        (tmp_path / name).symlink_to(world / name)
    text = (world / "workflow.toml").read_text() + '\n[verdicts]\nplugins = ["shouting"]\n'
    (tmp_path / "workflow.toml").write_text(text)
    report = builder.build(tmp_path / "workflow.toml", tmp_path / "out", until="verdicts")
    assert report.executed_step_count > 0


def test_the_doctor_lists_them(example: Path, tmp_path: Path) -> None:
    found = {d.name: d for d in doctor(tmp_path)}
    assert found["plug-in questions"].detail == "checks, from longeval-example 1.0.0"
    (example / "longeval_example.py").write_text("import nothing_of_that_name\n")
    sys.modules.pop("longeval_example", None)
    found = {d.name: d for d in doctor(tmp_path)}
    assert found["plug-in questions"].status == "bad"
    assert "failed to load" in found["plug-in questions"].detail


def test_an_id_of_ours_is_refused(example: Path, built: BuildReport) -> None:
    path = example / "longeval_example.py"
    path.write_text(path.read_text().replace("EX101", "LB101"))
    with pytest.raises(UsageError, match="a unique id such as XY101"):
        validate(built.root)


def test_a_log_reader_has_a_name(example: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text('7|u|eau|["http://a.fr/"]|[1]\nnonsense\n')
    params = LogParameters(format="bars")
    limits = ResourceLimits(tmp_path, threads=1)
    (records,) = read_impressions(Source(log, "log.txt"), Interval(0, 10), params, limits)
    assert len(records.impressions) == 1
    assert records.rejects == [(2, "not_five_fields")]
    with pytest.raises(ValueError, match="did you mean 'bars'"):
        LogParameters(format="barz")


def test_a_new_version_of_a_plug_in_builds_its_stage_again(
    example: Path, world: Path, tmp_path: Path
) -> None:
    for name in ("logs", "crawls", "topics.tsv"):
        (tmp_path / name).symlink_to(world / name)
    text = (world / "workflow.toml").read_text() + '\n[verdicts]\nplugins = ["shouting"]\n'
    (tmp_path / "workflow.toml").write_text(text)

    def build() -> dict[str, tuple[str, ...]]:
        report = builder.build(tmp_path / "workflow.toml", tmp_path / "out", until="verdicts")
        return {
            result.step.stage.name: result.reasons for result in report.results if result.has_run
        }

    assert "verdicts" in build()
    assert build() == {}
    metadata = example / "longeval_example-1.0.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("1.0.0", "1.1.0"))
    changed = "plug-in shouting longeval-example 1.0.0 -> longeval-example 1.1.0"
    assert build() == {"verdicts": (changed,)}


def test_a_measure_has_a_name(example: Path) -> None:
    measure = parse_measure("First")
    assert str(measure) == "First"
    assert measure.scoring_function is not None
    with pytest.raises(UsageError, match="did you mean 'First'"):
        parse_measure("Frist")


@pytest.mark.parametrize("fault", ["def :\n", "raise ValueError('no')\n", "1 / 0\n"])
def test_a_broken_plug_in_breaks_nothing_else(example: Path, tmp_path: Path, fault: str) -> None:
    (example / "longeval_example.py").write_text(fault)
    found = {d.name: d for d in doctor(tmp_path)}
    assert found["plug-in questions"].status == "bad"
    assert "fix or uninstall" in found["plug-in questions"].detail
    with pytest.raises(UsageError, match=r"longeval-example 1\.0\.0 failed to load"):
        load_plugin("checks", "questions")


def test_two_plug_ins_of_one_name_are_refused(example: Path, tmp_path: Path) -> None:
    info = example / "longeval_other-2.0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: longeval-other\nVersion: 2.0.0\n")
    (info / "entry_points.txt").write_text("[longeval_builder.checks]\nquestions = other:CHECK\n")
    with pytest.raises(UsageError, match=r"declared by both longeval-.* and longeval-"):
        find_plugins("checks")
    found = {d.name: d for d in doctor(tmp_path)}
    assert found["plug-ins checks"].status == "bad"


def test_an_engine_translates(example: Path, tmp_path: Path) -> None:
    params = TranslationParameters(model=tmp_path, engine="backwards")
    (found,) = translate_texts(["Le chat dort."], params, ResourceLimits(tmp_path, threads=1))
    assert found.text == "dort. chat Le"
    with pytest.raises(UsageError, match="'forwards' is not installed"):
        translate_texts(
            ["x"], params.model_copy(update={"engine": "forwards"}), ResourceLimits(tmp_path)
        )


@pytest.mark.parametrize(
    ("group", "installed"), [("checks", "questions"), ("no_such_group", "none")]
)
def test_a_missing_plug_in_is_told_with_those_that_are_there(
    example: Path, group: str, installed: str
) -> None:
    with pytest.raises(UsageError) as missing:
        load_plugin(group, "answers")
    assert str(missing.value) == (
        f"{group}: plug-in 'answers' is not installed (installed plug-ins of the group "
        f"longeval_builder.{group}: {installed}); install the package that provides it"
    )


def test_packages_of_plug_ins_are_named_where_they_are_known(example: Path) -> None:
    found = plugin_packages("checks", ("questions", "answers"))
    assert found == {"questions": "longeval-example 1.0.0"}
    assert describe_package(EntryPoint("questions", "a:CHECK", "g")) == "a:CHECK"


def test_a_plug_in_that_is_found_twice_in_one_package_is_one(example: Path) -> None:
    info = example / "longeval_copy-1.0.0.dist-info"
    shutil.copytree(example / "longeval_example-1.0.0.dist-info", info)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: longeval-copy\nVersion: 1.0.0\n")
    assert list(find_plugins("checks")) == ["questions"]
