"""Definitions: what is accepted, and the message for everything that is not."""

from pathlib import Path
from typing import get_args

import pytest

from builder.definition.files import read_section
from builder.definition.model import Definition
from builder.definition.source_files import find_compressed_duplicate
from builder.errors import DefinitionError
from builder.io.sources import Source
from builder.models import bundled_model_folder
from builder.parameters import CrawlParameters, LogParameters, TranslationParameters
from builder.runtime.references import HasFrench

GOOD = """
[collection]
name = "small"
version = "1.0.0"
topics = "topics.tsv"

[[snapshots]]
name = "2022-06"
start = 2022-06-01
end = 2022-07-01
log = ["logs/june"]
crawl = ["crawl-*.jsonl"]

[[snapshots]]
name = "2022-07"
start = 2022-07-01
end = 2022-08-01
log = ["july.jsonl"]
crawl = ["crawl-1.jsonl"]

[clicks]
no_click = "skip"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "logs/june").mkdir(parents=True)
    for name in (
        "topics.tsv",
        "other.tsv",
        "july.jsonl",
        "crawl-1.jsonl",
        "crawl-2.jsonl",
        "logs/june/part-1",
        "logs/june/part-0",
        "logs/june/_SUCCESS",
        "logs/june/.part-0.crc",
    ):
        (tmp_path / name).touch()
    return tmp_path


def _load(folder: Path, text: str) -> Definition:
    path = folder / "workflow.toml"
    path.write_text(text, encoding="utf-8")
    return Definition.load(path)


def test_a_good_definition(folder: Path) -> None:
    definition = _load(folder, GOOD)
    workflow = definition.workflow
    assert workflow.snapshot_names == ("2022-06", "2022-07")
    assert workflow.training_snapshots == ("2022-06",)
    assert workflow.clicks.no_click == "skip"
    assert workflow.clicks.prior_alpha == 1.0
    assert not workflow.collection.is_draft
    june = workflow.snapshot("2022-06")
    assert (june.interval.start, june.interval.stop) == (1654041600, 1656633600)
    assert 1654041600 in june.interval
    assert 1656633600 not in june.interval
    names = [source.name for source in definition.expand_sources(june.log)]
    assert names == ["logs/june/part-0", "logs/june/part-1"]
    assert [s.name for s in definition.expand_sources(june.crawl)] == [
        "crawl-1.jsonl",
        "crawl-2.jsonl",
    ]


@pytest.mark.parametrize(
    ("version", "draft"),
    [
        ("0.1.0", True),
        ("1.0.0", False),
        ("2.10.3", False),
        ("1.0.0-rc1", True),
        ("1.0.0.dev2", True),
    ],
)
def test_drafts(folder: Path, version: str, draft: bool) -> None:
    definition = _load(folder, GOOD.replace("1.0.0", version))
    assert definition.workflow.collection.is_draft is draft


@pytest.mark.parametrize(
    ("before", "after", "key", "message"),
    [
        ("no_click", "no_clik", "clicks.no_clik", "unknown key; did you mean 'no_click'?"),
        ("[clicks]", "[click]", "click", "unknown key; did you mean 'clicks'?"),
        ("[clicks]", "[zzz]", "zzz", "unknown key; known keys: log, crawl"),
        ('name = "small"\n', "", "collection.name", "required key is missing"),
        ('name = "small"', 'nom = "small"', "collection.nom", "unknown key; did you mean 'name'?"),
        (
            "[clicks]",
            "[qrels]\nshares = [0.5, 0.5]\n[clicks]",
            "qrels.shares[2]",
            "expected more values in the list",
        ),
        (
            "[clicks]",
            '[qrels]\nshares = "longeval-2023"\n[clicks]',
            "qrels.shares",
            "expected 'longeval-2023-train', 'longeval-2024-train' or",
        ),
        (
            "[clicks]",
            "[qrels]\ncuts = [0.1, 0.2, 0.3]\n[clicks]",
            "qrels.cuts",
            "expected a list of at most 2 values",
        ),
        (
            "[clicks]",
            '[crawl.fields]\ntext = ["a", 3]\n[clicks]',
            "crawl.fields.text[1]",
            "expected a string in quotes",
        ),
        ("july.jsonl", "juli.jsonl", "snapshots[1].log[0]", "no such file"),
        ("crawl-*.jsonl", "page-*.jsonl", "snapshots[0].crawl[0]", "no such file"),
        ("topics.tsv", "topic.tsv", "collection.topics", "no such file"),
        ("start = 2022-07-01", "start = 2022-06-15", "snapshots[1].start", "must be disjoint"),
        ("end = 2022-08-01", "end = 2022-07-01", "snapshots[1].end", "empty interval"),
        ('"2022-07"', '"2022-06"', "snapshots[1].name", "duplicate snapshot name"),
        ('"2022-07"', '"July"', "snapshots[1].name", "expected a month such as 2022-06"),
        ("start = 2022-06-01", 'start = "2022-06-01"', "snapshots[0].start", "without quotes"),
        ('"skip"', '"never"', "clicks.no_click", "found 'never'"),
        (
            'version = "1.0.0"',
            'version = "1"',
            "collection.version",
            "expected a version such as 1.0.0",
        ),
        ("topics =", 'train = ["2023-01"]\ntopics =', "collection.train", "unknown snapshot"),
        ("[clicks]", '[select]\nstop_lists = ["no"]\n[clicks]', "select.stop_lists[0]", "no such"),
        ("[clicks]", '[translate]\nmodel = "no"\n[clicks]', "translate.model", "no such folder"),
        (
            "[clicks]",
            "[qrels]\ncuts = [0.5, 0.2]\n[clicks]",
            "qrels",
            "expected two cuts in strictly ascending order, above 0 and at most 1, found",
        ),
        (
            "[clicks]",
            '[variants]\nsets = "off"\nfiles = ["other.tsv"]\n[clicks]',
            "variants",
            'files: manually defined sets have no effect with sets = "off"; use "signature" or',
        ),
        ("[clicks]", "[clicks", None, "not valid TOML"),
        (
            "[clicks]",
            "[select]\nmin_users = true\n[clicks]",
            "select.min_users",
            "expected an integer; found True",
        ),
        (
            "[clicks]",
            "[clicks]\nprior_alpha = inf",
            "clicks.prior_alpha",
            "expected a finite number; found inf",
        ),
        (
            "[clicks]",
            '[qrels]\nscore = "relevance"\n[clicks]\nmodel = "pbm"',
            "",
            'set qrels.score = "attractiveness", or use sdbn, dbn or ccm$',
        ),
        (
            '"topics.tsv"',
            '"*.tsv"',
            "collection.topics",
            "expected one topic table, found 2 files (other.tsv, topics.tsv); specify one of them",
        ),
    ],
)
def test_messages_name_file_and_key(
    folder: Path, before: str, after: str, key: str | None, message: str
) -> None:
    assert before in GOOD
    with pytest.raises(DefinitionError) as caught:
        _load(
            folder,
            GOOD.replace(before, after, 1)
            if before != '"2022-07"'
            else GOOD.replace(before, after),
        )
    assert caught.value.key == key
    assert message in f"{caught.value}$"
    assert str(folder / "workflow.toml") in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_byte_order_mark_is_skipped(folder: Path) -> None:
    (folder / "workflow.toml").write_text(GOOD, encoding="utf-8-sig")
    assert Definition.load(folder / "workflow.toml").workflow == _load(folder, GOOD).workflow


def test_a_missing_definition(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="definition file not found"):
        Definition.load(tmp_path / "none.toml")


def test_a_definition_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "workflow.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DefinitionError, match="cannot be read as UTF-8 text"):
        Definition.load(tmp_path / "workflow.toml")


def test_moments_and_offsets(folder: Path) -> None:
    text = GOOD.replace("start = 2022-06-01", "start = 2022-06-01T02:00:00+02:00")
    assert _load(folder, text).workflow.snapshots[0].interval.start == 1654041600
    text = GOOD.replace("start = 2022-06-01", "start = 2022-06-01T06:00:00")
    assert _load(folder, text).workflow.snapshots[0].interval.start == 1654041600 + 6 * 3600


def _names(folder: Path, *patterns: str) -> list[str]:
    """Names of the files that patterns stand for, in the definition with those of one log."""
    listed = ", ".join(f'"{pattern}"' for pattern in patterns)
    definition = _load(folder, GOOD.replace('"logs/june"', listed))
    return [source.name for source in definition.expand_sources(patterns)]


def _touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def test_a_folder_stands_for_its_files_but_not_for_hidden_ones_and_backups(folder: Path) -> None:
    _touch(
        folder,
        "logs/june/date=2022-06-01/part-2",
        "logs/june/.ipynb_checkpoints/part-0",
        "logs/june/_temporary/0/task_1/part-0",
        "logs/june/part-0~",
    )
    expected = ["logs/june/date=2022-06-01/part-2", "logs/june/part-0", "logs/june/part-1"]
    assert _names(folder, "logs/june") == expected
    assert _names(folder, "logs") == expected
    assert _names(folder, "logs/*/*") == expected
    assert _names(folder, "logs/**/part-*") == expected


def test_hidden_files_and_backups_are_read_if_they_are_named(folder: Path) -> None:
    _touch(folder, "logs/_old/part-0", "logs/june/part-0~")
    named = ["logs/_old", "logs/june/_*", "logs/june/.part-0.crc", "logs/june/*~"]
    assert _names(folder, *named) == [
        "logs/_old/part-0",
        "logs/june/_SUCCESS",
        "logs/june/.part-0.crc",
        "logs/june/part-0~",
    ]


def test_a_file_that_is_listed_twice_is_read_once(folder: Path) -> None:
    (folder / "logs/june/part-2").symlink_to("part-1")
    (folder / "links").symlink_to("logs")
    both = ["logs/june/part-0", "logs/june/part-1"]
    assert _names(folder, "logs/june/part-0", "logs", "logs/june/*", "links") == both
    assert _names(folder, "logs/june/../june/part-0", "logs/june/part-0") == [
        "logs/june/../june/part-0"
    ]


def test_linked_folders_are_entered_once(folder: Path) -> None:
    _touch(folder, "other/part-3")
    (folder / "logs/june/sub").symlink_to("../../other")
    (folder / "logs/june/loop").symlink_to("..")
    (folder / "other/loop").symlink_to("../logs")
    expected = ["logs/june/part-0", "logs/june/part-1", "logs/june/sub/part-3"]
    assert _names(folder, "logs/june") == expected
    assert _names(folder, "logs/june/**/part-*") == expected


def test_a_folder_that_a_glob_matches_stands_for_its_files(folder: Path) -> None:
    _touch(folder, "logs/june-late/part-0")
    expected = ["logs/june-late/part-0", "logs/june/part-0", "logs/june/part-1"]
    assert sorted(_names(folder, "logs/june*")) == expected
    assert sorted(_names(folder, str(folder / "logs/june*"))) == expected


@pytest.mark.parametrize(
    ("metadata", "table_format"),
    [
        ("_delta_log/00000000000000000000.json", "Delta Lake"),
        (".hoodie/hoodie.properties", "Hudi"),
        ("metadata/v1.metadata.json", "Iceberg"),
    ],
)
@pytest.mark.parametrize("pattern", ["logs", "logs/june", "logs/*/part-?"])
def test_a_folder_of_a_versioned_table_is_an_error(
    folder: Path, pattern: str, metadata: str, table_format: str
) -> None:
    """The folder keeps files with rows that were deleted."""
    _touch(folder, f"logs/{metadata}")
    with pytest.raises(DefinitionError) as caught:
        _load(folder, GOOD.replace("logs/june", pattern))
    assert str(caught.value) == (
        f"{folder}/workflow.toml: snapshots[0].log[0]: expected a folder of independent files, "
        f"found a {table_format} table in logs, which may contain files of earlier versions; "
        "export its current version, or list the files of that version one by one"
    )
    assert _names(folder, "logs/june/part-1") == ["logs/june/part-1"]


@pytest.mark.parametrize("pattern", ["logs/june", "logs/*/*", "logs/june/part-9"])
def test_a_link_to_a_missing_file(folder: Path, pattern: str) -> None:
    (folder / "logs/june/part-9").symlink_to("gone")
    message = (
        "logs/june/part-9 is a link to a file that does not exist; restore the file or remove the "
        "link"
    )
    if pattern == "logs/june/part-9":
        message = f"no such file: {folder}/logs/june/part-9"
    with pytest.raises(DefinitionError) as caught:
        _load(folder, GOOD.replace("logs/june", pattern))
    assert str(caught.value) == f"{folder}/workflow.toml: snapshots[0].log[0]: {message}"


@pytest.mark.parametrize(
    ("names", "listed"),
    [
        (("a.csv", "a.csv.gz"), '"logs/june"'),
        (("a.csv.gz", "a.csv.zst"), '"logs/june/a*"'),
        (("a.csv", "a.csv.gz"), '"logs/june/a.csv", "logs/june/a.csv.gz"'),
    ],
)
def test_a_file_beside_its_compressed_copy(
    folder: Path, names: tuple[str, str], listed: str
) -> None:
    _touch(folder, *(f"logs/june/{name}" for name in names), "logs/june/a.csv.1", "logs/a.csv.gz")
    with pytest.raises(DefinitionError) as caught:
        _load(folder, GOOD.replace('"logs/june"', listed))
    assert str(caught.value) == (
        f"{folder}/workflow.toml: snapshots[0].log: expected each file once, found "
        f"logs/june/{names[0]} and logs/june/{names[1]}, which are probably the same file, plain "
        "and compressed; list one of them, or move the other to another folder"
    )


LANGUAGES = 'version = "1.0.0"\nlanguages = [{}]\n'
MODEL = '\n[translate]\nmodel = "embedded"\n'


@pytest.mark.parametrize(
    ("languages", "model", "settled", "translates"),
    [
        (None, "", ("fr",), False),
        (None, MODEL, ("fr", "en"), True),
        ('"fr"', "", ("fr",), False),
        ('"fr", "en"', "", ("fr", "en"), True),
        ('"fr", "en"', MODEL, ("fr", "en"), True),
        ('"de", "en"', MODEL, ("de", "en"), True),
    ],
)
def test_languages_and_translation_say_the_same(
    folder: Path, languages: str | None, model: str, settled: tuple[str, ...], translates: bool
) -> None:
    line = 'version = "1.0.0"\n' if languages is None else LANGUAGES.format(languages)
    workflow = _load(folder, GOOD.replace('version = "1.0.0"\n', line) + model).workflow
    assert workflow.collection.languages == settled
    (setting,) = get_args(HasFrench)[1:]
    assert setting.value(workflow, "") == ("fr" in settled)
    assert workflow.translate.model == (Path("embedded") if translates else None)


@pytest.mark.parametrize(
    ("languages", "model", "message"),
    [
        ('"fr"', MODEL, "collection.languages: expected two languages because translate.model"),
        ('"fr", "de"', MODEL, "collection.languages: expected the target language 'en'"),
        ('"en", "en"', MODEL, "collection.languages: expected two distinct languages"),
        ('"../fr"', "", r"collection.languages\[0\]: expected an ISO 639 code"),
        ('"de", "en"', "", "translate.model: expected a model, found none; the bundled model does"),
    ],
)
def test_languages_that_contradict_the_translation(
    folder: Path, languages: str, model: str, message: str
) -> None:
    text = GOOD.replace('version = "1.0.0"\n', LANGUAGES.format(languages)) + model
    with pytest.raises(DefinitionError, match=message):
        _load(folder, text)


OVERRIDES = """
[snapshots.overrides.log]
format = "csv"
fields = { clicks = "ranks" }
"""


def test_a_snapshot_overrides_how_its_files_are_written(folder: Path) -> None:
    """The keys that it sets, in nested sections too; nothing else, and nowhere else."""
    text = GOOD.replace("[clicks]", f'{OVERRIDES}\n[log.fields]\nuser = "who"\n\n[clicks]')
    definition = _load(folder, text)
    june, july = (definition.section("log", name) for name in ("2022-06", "2022-07"))
    assert isinstance(june, LogParameters)
    assert isinstance(july, LogParameters)
    assert (june.format, june.fields.clicks, june.fields.user) == ("auto", "clicks", "who")
    assert (july.format, july.fields.clicks, july.fields.user) == ("csv", "ranks", "who")
    assert definition.workflow.log_formats == ("auto", "csv")
    assert definition.section("log") == june
    assert definition.section("clicks", "2022-07") == definition.section("clicks")


def test_a_snapshot_does_not_override_which_records_are_kept(folder: Path) -> None:
    text = GOOD.replace("[clicks]", "[snapshots.overrides.log]\nbot_rate = 5\n\n[clicks]")
    with pytest.raises(
        DefinitionError, match=r"cannot override bot_rate .* use section \[log\] instead"
    ):
        _load(folder, text)


def test_urls_without_a_scheme_may_be_rejected(folder: Path) -> None:
    text = f'{GOOD}[log]\nscheme = "none"\n[crawl]\nscheme = "http"\n'
    workflow = _load(folder, text).workflow
    assert (workflow.log.scheme, workflow.crawl.scheme) == (None, "http")
    with pytest.raises(DefinitionError, match=r"log\.scheme"):
        _load(folder, f'{GOOD}[log]\nscheme = "ftp"\n')


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        (["a.toml", "workflow.toml"], "did you mean {folder}/workflow.toml?"),
        (["b.toml", "a.toml"], "did you mean {folder}/a.toml?"),
        (["a.txt"], "the folder contains no TOML file"),
    ],
)
def test_a_folder_is_no_definition(tmp_path: Path, names: list[str], hint: str) -> None:
    for name in names:
        (tmp_path / name).touch()
    with pytest.raises(DefinitionError) as caught:
        Definition.load(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: expected a definition file, found a folder; {hint.format(folder=tmp_path)}"
    )


THREE = (
    GOOD
    + """
[[snapshots]]
name = "2022-08"
start = 2022-08-01
end = 2022-08-15
log = ["july.jsonl"]
crawl = ["crawl-2.jsonl"]
"""
)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "end = 2022-08-01",
            "end = 2022-08-02",
            (
                "snapshots[2].start: snapshot 2022-08 (2022-08-01 to 2022-08-15) overlaps or "
                "precedes 2022-07 (2022-07-01 to 2022-08-02); snapshots must be disjoint and "
                "listed in chronological order"
            ),
        ),
        (
            "end = 2022-08-15",
            "end = 2022-08-01",
            "snapshots[2].end: empty interval: end must be after start",
        ),
        (
            'name = "2022-08"',
            'name = "2022-06"',
            "snapshots[2].name: duplicate snapshot name 2022-06",
        ),
        (
            'topics = "topics.tsv"',
            'topics = "topics.tsv"\ntrain = ["2022-07", "2022-09"]',
            (
                "collection.train: unknown snapshot '2022-09'; expected one of 2022-06, 2022-07, "
                "2022-08"
            ),
        ),
        (
            "[clicks]",
            "[clicks]\niterations = 0\nno_clik = 1",
            "clicks.no_clik: unknown key; did you mean 'no_click'?",
        ),
        (
            "[clicks]",
            "[clicks]\nzzz = 1",
            (
                "clicks.zzz: unknown key; known keys: model, iterations, no_click, last, votes, "
                "pages, prior, prior_alpha, prior_beta"
            ),
        ),
        (
            "[clicks]",
            '[snapshots.overrides.log.fields]\nclicsk = "c"\n[clicks]',
            "snapshots[1].overrides.log.fields.clicsk: unknown key; did you mean 'clicks'?",
        ),
        (
            "[clicks]",
            '[[verdicts.filters]]\nnam = "a"\n[clicks]',
            "verdicts.filters[0].nam: unknown key; did you mean 'name'?",
        ),
        (
            "[clicks]",
            "[crawl.fields]\ntext = 3\n[clicks]",
            "crawl.fields.text: expected a string in quotes; found 3",
        ),
        (
            "[clicks]",
            "[crawl.fields]\ntext = []\n[clicks]",
            "crawl.fields.text: expected a list of length 1 or more; found []",
        ),
        (
            'log = ["logs/june"]',
            "log = []",
            "snapshots[0].log: expected a list of length 1 or more; found []",
        ),
        (
            'version = "1.0.0"',
            'version = "1.0.0"\nlanguages = ["fr", "en", "de"]',
            "collection.languages: expected a list of at most 2 values; found ['fr', 'en', 'de']",
        ),
        (
            "[clicks]",
            "[snapshots.overrides.crawl]\nmax_text_chars = 5\ninterval = 'ignore'\n[clicks]",
            (
                "snapshots[1].overrides.crawl: cannot override interval, max_text_chars for one "
                "snapshot, because the rules that decide which records are kept must be the same "
                "for all snapshots; use section [crawl] instead. Keys that can be overridden: "
                "address, fields, format, scheme, text_format, time_format, time_unit, time_zone, "
                "undated"
            ),
        ),
        *(
            ("[clicks]", f"{section}\n[clicks]", f"{key}: no such file: {{folder}}/none")
            for section, key in (
                ('[documents]\ndeny = ["other.tsv", "none"]', "documents.deny[1]"),
                ('[documents]\nallow = ["none"]', "documents.allow[0]"),
                ('[verdicts]\nfiles = ["none"]', "verdicts.files[0]"),
                ('[variants]\nfiles = ["none"]', "variants.files[0]"),
            )
        ),
        (
            'crawl = ["crawl-2.jsonl"]',
            'crawl = ["crawl-2.jsonl"]\njudgements = ["none"]',
            "snapshots[2].judgements[0]: no such file: {folder}/none",
        ),
        (
            '"logs/june"',
            f'"logs/june", "{"x" * 300}"',
            f"snapshots[0].log[1]: no such file: {{folder}}/{'x' * 300}",
        ),
        (
            '"logs/june"',
            '"logs/x**"',
            "snapshots[0].log[0]: no such file: {folder}/logs/x**",
        ),
        (
            "[clicks]",
            '[translate]\nmodel = "topics.tsv"\n[clicks]',
            "translate.model: no such folder: {folder}/topics.tsv",
        ),
    ],
)
def test_whole_messages(folder: Path, before: str, after: str, message: str) -> None:
    assert THREE.count(before) == 1
    with pytest.raises(DefinitionError) as caught:
        _load(folder, THREE.replace(before, after))
    shown = str(caught.value).split("; found {")[0]
    assert shown == f"{folder}/workflow.toml: {message.format(folder=folder)}"


def test_definitions_that_are_no_files_or_no_toml(folder: Path) -> None:
    path = folder / "workflow.toml"
    with pytest.raises(DefinitionError) as caught:
        Definition.load(path)
    assert str(caught.value) == (
        f"{path}: definition file not found; create one with `longeval new DIR`"
    )
    path.write_text("a = " + "[" * 100_000)
    with pytest.raises(DefinitionError, match="not valid TOML: "):
        Definition.load(path)
    with pytest.raises(DefinitionError) as caught:
        Definition.load(path / "inner.toml")
    assert str(caught.value).startswith(f"{path}/inner.toml: cannot be read as UTF-8 text: [Errno ")
    assert str(caught.value).endswith("; check the encoding and permissions")


def test_one_section_is_read_alone(tmp_path: Path) -> None:
    path = tmp_path / "reading.toml"
    path.write_text('[log]\nformat = "csv"\n\n[zzz]\nx = 1\n\n[crawl.fields]\ntext = ["a", 3]\n')
    assert read_section(path, LogParameters, "log") == LogParameters(format="csv")
    for name, model, message in (
        ("select", LogParameters, "missing section [select]"),
        ("zzz", LogParameters, "zzz.x: unknown key; known keys: "),
        ("crawl", CrawlParameters, "crawl.fields.text[1]: expected a string in quotes; found 3"),
    ):
        with pytest.raises(DefinitionError) as caught:
            read_section(path, model, name)
        assert str(caught.value).startswith(f"{path}: {message}")
    with pytest.raises(DefinitionError) as caught:
        read_section(tmp_path / "none.toml", LogParameters, "log")
    assert str(caught.value) == f"{tmp_path}/none.toml: definition file not found"


@pytest.mark.parametrize(
    ("train", "training"),
    [
        ("", ("2022-06",)),
        ('train = ["2022-07"]', ("2022-07",)),
        ('train = ["2022-08", "2022-06"]', ("2022-06", "2022-08")),
    ],
)
def test_training_snapshots_are_chronological(
    folder: Path, train: str, training: tuple[str, ...]
) -> None:
    workflow = _load(folder, THREE.replace("topics =", f"{train}\ntopics =")).workflow
    assert workflow.training_snapshots == training
    assert workflow.log_formats == ("auto",)


def test_a_model_is_a_folder_beside_the_definition_or_the_bundled_one(folder: Path) -> None:
    (folder / "m").mkdir()
    for model, name in (("m", folder / "m"), ("embedded", None)):
        definition = _load(folder, f'{GOOD}\n[translate]\nmodel = "{model}"\n')
        section = definition.section("translate")
        assert isinstance(section, TranslationParameters)
        assert section.model == (name or bundled_model_folder())
    assert _load(folder, GOOD).section("translate") == TranslationParameters()
    embedded = [source.name for source in definition.expand_sources(["embedded"])]
    assert embedded == sorted(
        f"embedded/{path.name}" for path in bundled_model_folder().glob("*.*")
    )
    assert "embedded/model.bin" in embedded
    assert definition.expand_sources(["embedded", "topics.tsv"]) == (
        Source(folder / "topics.tsv", "topics.tsv"),
    )


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["a.csv", "b.csv.gz", "a.csv.lz4"], ("a.csv", "a.csv.lz4")),
        (["a.zst", "a.xz"], ("a.xz", "a.zst")),
        (["a.bz2", "a.zstd"], ("a.bz2", "a.zstd")),
        (["a.csv", "a.tsv", "x/a.csv.gz"], None),
        (["a.csv.zip", "a.csv"], None),
        ([], None),
    ],
)
def test_files_that_differ_in_their_compression_alone(
    names: list[str], found: tuple[str, str] | None
) -> None:
    duplicate = find_compressed_duplicate(Source(Path(name), name) for name in names)
    assert (duplicate and tuple(source.name for source in duplicate)) == found
