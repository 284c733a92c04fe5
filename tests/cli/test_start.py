"""The first minutes: help that is there at once, a definition to begin with, a check-up."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import builder
from builder.cli import app
from builder.commands import doctor as diagnosis
from builder.commands.doctor import doctor
from builder.commands.new import create_definition, default_collection_name, to_toml
from builder.definition.model import Definition
from builder.errors import UsageError
from builder.parameters import StageParameters
from builder.runtime import limits as resources
from tests.cli.test_cli import run

Captured = pytest.CaptureFixture[str]
HEAVY = ("polars", "duckdb", "pyarrow", "numpy", "pydantic", "dataframely", "ctranslate2", "tqdm")


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from builder.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "Usage: longeval" in done.stdout


def test_scipy_is_loaded_where_it_is_first_used() -> None:
    """Its import takes as long as that of everything else together."""
    code = (
        "import sys, builder.pipeline\n"
        "print([n for n in ('scipy.special', 'scipy.sparse', 'scipy.stats') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_verb_has_help_with_an_example(capsys: Captured) -> None:
    assert run("--help") == 0
    shown = capsys.readouterr().out
    assert shown.count("...") == 1  # in [ARGS]... alone: no sentence is cut off
    listed = shown.partition("Get started:\n")[2].splitlines()
    verbs = [line.split()[0] for line in listed if line.startswith("  ") and line[2] != " "]
    known = {command.name or "" for command in app.registered_commands}
    groups = {group.typer_instance.info.name or "" for group in app.registered_groups}
    assert sorted(verbs) == sorted(known | groups)
    for verb in verbs:
        assert run(verb, "--help") == 0
        shown = capsys.readouterr().out
        assert "Example: longeval" in shown or "Commands:" in shown, verb


def test_a_new_definition_builds(world: Path, tmp_path: Path, capsys: Captured) -> None:
    home = tmp_path / "mine"
    months = [part for m in ("2022-06", "2022-07", "2022-08") for part in ("--snapshot", m)]
    assert run("new", home, "--name", "mine", *months, "--no-translate") == 0
    assert f"longeval build {home}/workflow.toml" in capsys.readouterr().out
    for part in ("logs", "crawls"):
        for path in (world / part).iterdir():
            (home / part / path.name).symlink_to(path)
    (home / "topics.tsv").write_bytes((world / "topics.tsv").read_bytes())
    report = builder.build(home / "workflow.toml", tmp_path / "out", until="select")
    assert report.executed_step_count > 0


def test_a_new_definition_has_every_key_and_no_other_value(tmp_path: Path) -> None:
    (path, _) = create_definition(tmp_path, "mine", ["2022-06"])
    text = path.read_text("utf-8")
    assert 'languages = ["fr", "en"]\n' in text
    for key in ("train = []", 'citation = ""', 'url = ""', "model ="):
        assert f"\n# {key}\n" in text
    for section, field in StageParameters.model_fields.items():
        assert f"[{section}]" in text
        for key in field.default.model_dump():
            assert f"{key}" in text
    (tmp_path / "logs/2022-06.jsonl").write_text("")
    (tmp_path / "crawls/2022-06.jsonl").write_text("")
    workflow = Definition.load(path).workflow
    changed = workflow.model_dump(mode="json", exclude={"collection", "snapshots"})
    defaults = StageParameters().model_dump(mode="json")
    assert changed["translate"].pop("model") == "embedded"
    defaults["translate"].pop("model")
    assert changed == defaults


def test_a_new_definition_without_translation(tmp_path: Path) -> None:
    (path, _) = create_definition(tmp_path, "mine", ["2022-06"], translate=False)
    (tmp_path / "logs/2022-06.jsonl").write_text("")
    (tmp_path / "crawls/2022-06.jsonl").write_text("")
    workflow = Definition.load(path).workflow
    assert workflow.collection.languages == ("fr",)
    assert workflow.translate.model is None


def test_wrong_new_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected lowercase letters"):
        create_definition(tmp_path, "../Mine", ["2022-06"])
    with pytest.raises(UsageError, match="expected a month such as 2022-06, found '2022-13'"):
        create_definition(tmp_path, "mine", ["2022-13"])
    with pytest.raises(UsageError, match="expected a month such as 2022-06, found '9999-12'"):
        create_definition(tmp_path, "mine", ["9999-12"])
    for months in (("2022-07", "2022-06"), ("2022-06", "2022-06")):
        message = f"in chronological order, found {months[0]}, {months[1]}$"
        with pytest.raises(UsageError, match=message):
            create_definition(tmp_path, "mine", months)
    with pytest.raises(UsageError, match="at least one month"):
        create_definition(tmp_path, "mine", [])
    (tmp_path / "topics.tsv").write_text("")
    with pytest.raises(UsageError, match="already exists; choose another folder"):
        create_definition(tmp_path, "mine", ["2022-06"])
    assert not (tmp_path / "workflow.toml").exists()


def test_a_new_definition_explains_its_keys_and_ends_months_at_the_next(tmp_path: Path) -> None:
    home = tmp_path / "a" / "b"
    (home / "logs").mkdir(parents=True)
    path, topics = create_definition(home, "mine", ["2022-11", "2022-12"])
    text = path.read_text("utf-8")
    assert text.startswith(
        f"# Definition of a test collection. Build it with:  longeval build {path}\n"
        "# Paths are relative to this file; folders and globs are expanded to files.\n"
        "# Every parameter is listed with its default; uncomment a line to change it.\n"
        "\n[collection]\n"
        "# Short name, also used as the name of the output folder\n"
        'name = "mine"\n'
    )
    assert (
        '\n[[snapshots]]\nname = "2022-12"\n'
        "start = 2022-12-01  # midnight in UTC; in another time zone: 2022-12-01T00:00:00+02:00\n"
        "end = 2023-01-01    # exclusive\n"
    ) in text
    assert "\nend = 2022-12-01    # exclusive\n" in text
    assert "\n[translate]  # translation from French to English.\n" in text
    assert "\n# Beam size; 1 selects greedy decoding\n# beam_size = 1\n" in text
    assert "\n# fields.query = " in text
    assert "\n# retry = true\n" in text
    assert topics.read_text("utf-8").startswith("topic_id\tlabel\tlanguage\taliases\tsource\n")
    assert sorted(part.name for part in home.iterdir() if part.is_dir()) == ["crawls", "logs"]


def test_toml_of_hostile_values() -> None:
    import tomllib

    for value in ('a"b\\c', True, (1, 2.5), ["x"]):
        parsed = tomllib.loads(f"v = {to_toml(value)}")["v"]
        assert parsed == (list(value) if isinstance(value, tuple) else value)


def test_the_doctor_finds_this_machine_well(tmp_path: Path, capsys: Captured) -> None:
    found = {d.name: d for d in doctor(tmp_path)}
    assert {"python", "machine", "disk", "packages", "bundled model"} <= found.keys()
    assert all(d.status != "bad" for d in found.values())
    assert found["extra evaluation"].status == "good"
    assert run("doctor", tmp_path, "--format", "json") == 0
    assert {d["name"] for d in json.loads(capsys.readouterr().out)} == found.keys()
    assert run("doctor", tmp_path / "none") == 1


def test_a_name_is_made_of_a_folder(tmp_path: Path) -> None:
    assert default_collection_name(tmp_path / "My Data (été)") == "my-data-ete"
    assert default_collection_name(tmp_path / "...") == "collection"
    assert default_collection_name(tmp_path / ("a" * 70)) == "a" * 64
    assert run("new", tmp_path / "Mes Données", "--snapshot", "2022-06") == 0
    assert 'name = "mes-donnees"' in (tmp_path / "Mes Données" / "workflow.toml").read_text()


def test_a_new_definition_where_none_can_be(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "file").write_text("")
    assert run("new", tmp_path / "file", "--name", "a", "--snapshot", "2022-06") == 2
    assert "cannot be written" in capsys.readouterr().err


def test_the_doctor_wants_a_folder(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "file").write_text("")
    assert run("doctor", tmp_path / "file") == 1
    assert "expected a folder, found a file" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("memory", "status", "detail"),
    [
        (4 * 2**30, "good", "3 cores, 4.0 GiB of memory"),
        (4 * 2**30 - 1, "note", "3 cores, 4.0 GiB of memory; build with --memory 2047MiB"),
        (2**30, "note", "3 cores, 1.0 GiB of memory; build with --memory 512MiB"),
        (None, "note", "3 cores; memory size could not be determined"),
    ],
)
def test_the_doctor_wants_four_gibibytes_of_memory(
    monkeypatch: pytest.MonkeyPatch, memory: int | None, status: str, detail: str
) -> None:
    monkeypatch.setattr(diagnosis, "count_usable_cores", lambda: 3)
    monkeypatch.setattr(diagnosis, "usable_memory_bytes", lambda: memory)
    found = diagnosis._check_cores_and_memory()
    assert found == diagnosis.Diagnosis("machine", status, detail)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("free", "status", "end"),
    [
        (10 * 2**30, "good", ": 10 GiB free"),
        (10 * 2**30 - 1, "note", ": 10 GiB free; one monthly LongEval snapshot needs 30 GiB"),
        (0, "note", ": 0 GiB free; one monthly LongEval snapshot needs 30 GiB"),
    ],
)
def test_the_doctor_wants_ten_gibibytes_on_both_disks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, status: str, end: str
) -> None:
    usage = SimpleNamespace(free=free)
    monkeypatch.setattr(diagnosis.shutil, "disk_usage", lambda path: usage)
    monkeypatch.setattr(diagnosis.tempfile, "gettempdir", lambda: str(tmp_path))
    found = list(diagnosis._check_folders_and_disk_space(tmp_path))
    assert [(d.name, d.status) for d in found] == [("disk", status), ("temporary files", status)]
    assert {d.detail for d in found} == {f"{tmp_path}{end}"}


def test_the_doctor_wants_a_new_python_and_a_folder_that_is_writable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version, status in (((3, 10, 9), "bad"), ((3, 11, 0), "good"), ((4, 0, 0), "good")):
        monkeypatch.setattr(diagnosis, "sys", SimpleNamespace(version_info=version))
        assert diagnosis._check_python().status == status
    monkeypatch.undo()
    monkeypatch.setattr(diagnosis.os, "access", lambda path, mode: False)
    disk, _ = diagnosis._check_folders_and_disk_space(tmp_path)
    assert disk == diagnosis.Diagnosis("disk", "bad", f"{tmp_path}: no write permission")


def test_the_doctor_looks_at_both_disks_if_one_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name, problem in (("file", "expected a folder, found a file"), ("none", "No such file")):
        disk, temporary = diagnosis._check_folders_and_disk_space(tmp_path / name)
        assert (disk.name, disk.status) == ("disk", "bad")
        assert disk.detail.startswith(f"{tmp_path / name}: {problem}")
        assert temporary.name == "temporary files"


def test_the_doctor_tells_why_the_bundled_model_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnosis, "bundled_model_folder", lambda: tmp_path)
    found = diagnosis._check_bundled_model()
    assert (found.name, found.status) == ("bundled model", "bad")
    assert found.detail.startswith(f"{tmp_path}")


def test_the_doctor_loads_every_plug_in_although_some_are_broken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def find(group: str) -> dict[str, SimpleNamespace]:
        if group == "verdicts":
            raise UsageError("declared twice")
        points = ("odd", "fine") if group == "checks" else ()
        return {name: SimpleNamespace(dist=None, value=f"{name}:X") for name in points}

    def load(group: str, name: str) -> None:
        if name == "odd":
            raise UsageError("failed to load")

    monkeypatch.setattr(diagnosis, "find_plugins", find)
    monkeypatch.setattr(diagnosis, "load_plugin", load)
    assert list(diagnosis._check_plugins()) == [
        diagnosis.Diagnosis("plug-ins verdicts", "bad", "declared twice"),
        diagnosis.Diagnosis("plug-in odd", "bad", "failed to load"),
        diagnosis.Diagnosis("plug-in fine", "good", "checks, from fine:X"),
    ]


def test_the_doctor_names_packages_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert diagnosis._installed_version("no-package-of-this-name") is None
    required = ["polars>=1", 'ray[default]; extra == "ray"', 'x-y.z ; extra == "evaluation"']
    monkeypatch.setattr(diagnosis, "requires", lambda name: required)
    assert diagnosis._required_packages(None) == ["polars"]
    assert diagnosis._required_packages("ray") == ["ray"]
    assert diagnosis._required_packages("evaluation") == ["x-y.z"]
    versions = {"polars": "1.2", "duckdb": "3", "pyarrow": "4", "ctranslate2": "5"}
    monkeypatch.setattr(diagnosis, "_installed_version", versions.get)
    (packages,) = diagnosis._check_packages()
    assert (packages.status, packages.detail) == (
        "good",
        "polars 1.2, duckdb 3, pyarrow 4, ctranslate2 5",
    )
    metadata = SimpleNamespace(get_all=lambda name: ["ray"])
    monkeypatch.setattr(diagnosis, "distribution", lambda name: SimpleNamespace(metadata=metadata))
    (extra,) = diagnosis._check_extras()
    assert extra == diagnosis.Diagnosis(
        "extra ray",
        "note",
        'ray not installed: python -m pip install "longeval-builder[ray]"',
    )
    versions["ray"] = "6"
    (extra,) = diagnosis._check_extras()
    assert extra == diagnosis.Diagnosis("extra ray", "good", "installed")
    del versions["polars"]
    (packages,) = diagnosis._check_packages()
    assert (packages.status, packages.detail) == (
        "bad",
        "polars missing: python -m pip install longeval-builder",
    )


def test_limits_of_a_container_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "CONTROL_GROUP", tmp_path)
    monkeypatch.setattr(resources.os, "sched_getaffinity", lambda _: set(range(8)))
    assert resources.count_usable_cores() == 8
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    (tmp_path / "memory.max").write_text(f"{2**28}\n")
    assert resources.count_usable_cores() == 2
    assert resources.usable_memory_bytes() == 2**28
    (tmp_path / "cpu.max").write_text("max 100000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert resources.count_usable_cores() == 8
    assert (resources.usable_memory_bytes() or 0) > 2**28
