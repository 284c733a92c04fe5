"""Sections of a definition: defaults, bounds of values, and the keys of one snapshot."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from builder.definition.wording import rephrase_error
from builder.parameters import CrawlParameters, LogParameters, StageParameters
from builder.parameters.encodings import extends_ascii

TIMES_AND_URLS = {
    "time_zone": "UTC",
    "time_unit": "s",
    "time_format": None,
    "address": None,
    "scheme": "https",
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "log": {
        **TIMES_AND_URLS,
        "format": "auto",
        "fields": {
            "time": "time",
            "user": "user",
            "query": "query",
            "results": "results",
            "clicks": "clicks",
            "url": "url",
            "rank": "rank",
            "clicked": "clicked",
            "click_time": "time",
        },
        "click_form": "ranks",
        "encoding": "auto",
        "undated": "reject",
        "empty": "refuse",
        "clickless": "refuse",
        "columns": (),
        "list_separator": " ",
        "session_start": None,
        "repeats": "drop",
        "bots": "drop",
        "bot_rate": 200,
        "bot_alike": 15,
        "max_query_chars": 500,
        "max_results": 1000,
        "max_line_bytes": 8_388_608,
    },
    "crawl": {
        **TIMES_AND_URLS,
        "format": "auto",
        "fields": {"url": "url", "time": None, "title": "title", "text": None},
        "interval": "enforce",
        "undated": "reject",
        "text_format": "plain",
        "max_text_chars": 1_000_000,
        "max_record_bytes": 67_108_864,
    },
    "select": {
        "anonymity": "users",
        "min_users": 5,
        "min_impressions": 5,
        "min_clicks": 0,
        "max_words": 15,
        "max_chars": 150,
        "operators": "drop",
        "url_like": "drop",
        "navigational_share": None,
        "navigational_clicks": 20,
        "stop_lists": (),
        "stop_matching": "query",
        "matching": "word",
    },
    "verdicts": {"files": (), "plugins": (), "filters": ()},
    "variants": {"sets": "signature", "threshold": 0.8, "files": (), "merge": "clicks"},
    "clicks": {
        "model": "sdbn",
        "iterations": 50,
        "no_click": "all_examined",
        "last": "rank",
        "votes": "impression",
        "pages": "separate",
        "prior": "empirical_bayes",
        "prior_alpha": 1.0,
        "prior_beta": 1.0,
    },
    "documents": {
        "sample_share": 0.2,
        "sample_seed": "longeval-builder",
        "deny": (),
        "allow": (),
        "duplicates": "keep",
        "near_duplicates": "keep",
        "near_threshold": 0.9,
    },
    "qrels": {
        "score": "attractiveness",
        "policy": "fixed",
        "cuts": (0.15, 0.4),
        "shares": "longeval-2023-train",
        "credibility": 0.9,
        "min_examinations": 3,
        "min_judged": 3,
        "manual": "wins",
    },
    "split": {"heldout_share": 0.2, "seed": "longeval-builder", "near": "together"},
    "translate": {
        "model": None,
        "engine": "ctranslate2",
        "compute_type": "int8",
        "device": "cpu",
        "source_prefix": None,
        "target_prefix": None,
        "beam_size": 1,
        "max_source_pieces": 128,
        "max_target_pieces": 256,
        "batch_tokens": 2048,
        "batching": "exact",
        "retry": True,
        "on_english": "source",
        "on_empty_output": "source",
        "on_truncated": "source",
        "on_repetition": "source",
        "on_length_ratio": "keep",
        "on_copied_source": "keep",
        "on_numbers_differ": "keep",
        "on_unknown_characters": "keep",
    },
    "changes": {
        "shingle": 5,
        "cosmetic": 0.9,
        "rewritten": 0.3,
        "moved": 0.9,
        "moved_tokens": 20,
    },
    "export": {"trec": True, "max_file_bytes": 268_435_456},
}


@pytest.mark.parametrize("section", DEFAULTS)
def test_values_of_a_definition_that_sets_nothing(section: str) -> None:
    found = StageParameters().model_dump()
    assert found.keys() == DEFAULTS.keys()
    assert found[section] == DEFAULTS[section]


def _error(section: str, key: str, value: object) -> str | None:
    """The message for a value of one key; None if the value is accepted."""
    try:
        StageParameters.model_validate({section: {key: value}})
    except ValidationError as error:
        return rephrase_error(error.errors()[0])
    return None


@pytest.mark.parametrize(
    ("key", "accepted", "refused"),
    [
        ("log.bot_rate", [1], [0, 1.0, True]),
        ("log.bot_alike", [2], [1]),
        ("log.max_query_chars", [1], [0]),
        ("log.max_results", [1], [0]),
        ("log.max_line_bytes", [1], [0]),
        ("log.list_separator", ["|"], [""]),
        ("log.encoding", ["auto", "utf-8", "gb18030"], ["utf-16", "cp037", "latin-0", "base64"]),
        ("log.format", ["tsv", "sogou"], ["xml"]),
        ("log.time_format", ["%d/%m/%Y %H:%M:%S", "%d%m%Y"], ["%Q", "%Y %Y"]),
        ("log.time_zone", ["Europe/Paris"], ["Europe/Atlantis", "Europe", "../x", ""]),
        ("log.time_unit", ["ns"], ["h"]),
        ("crawl.scheme", ["http", "none"], ["ftp"]),
        ("crawl.max_text_chars", [1], [0]),
        ("crawl.max_record_bytes", [1], [0]),
        ("select.min_users", [1], [0]),
        ("select.min_clicks", [0], [-1, True]),
        ("select.max_words", [1], [0]),
        ("select.navigational_share", [0.0, 1.0], [-0.01, 1.01]),
        ("select.min_impressions", [1], [0]),
        ("select.max_chars", [1], [0]),
        ("select.navigational_clicks", [1], [0]),
        ("documents.sample_share", [0.0, 1.0], [-0.01, 1.01, True, "0.5"]),
        ("documents.near_threshold", [0.5, 1.0], [0.49, 1.01]),
        ("changes.shingle", [1, 100], [0, 101]),
        ("changes.rewritten", [0.9], [0.91]),
        ("changes.cosmetic", [0.3], [0.29]),
        ("changes.moved", [0.0, 1.0], [-0.01, 1.01]),
        ("changes.moved_tokens", [1], [0]),
        ("variants.threshold", [0.5, 1.0], [0.49, 1.01]),
        ("clicks.prior_alpha", [0.001], [0.0]),
        ("clicks.prior_beta", [0.001], [0.0, float("inf"), float("nan")]),
        ("clicks.iterations", [1], [0]),
        ("clicks.model", ["ubm"], ["umb", "rank-ctr"]),
        ("qrels.cuts", [(0.1, 1.0)], [(0.0, 0.4), (0.1, 1.01), (0.4, 0.4)]),
        (
            "qrels.shares",
            [(0.5, 0.3, 0.2), (0.0, 0.5, 0.5), (0.5, 0.3, 0.2000001)],
            [(-0.1, 0.6, 0.5), (0.5, 0.3, 0.3), (0.5, 0.3, 0.1), (0.5, 0.3, 0.20001)],
        ),
        ("qrels.credibility", [0.51, 0.99], [0.5, 1.0]),
        ("qrels.min_judged", [1], [0]),
        ("qrels.min_examinations", [1], [0]),
        ("split.heldout_share", [0.0, 1.0], [-0.01, 1.01]),
        ("translate.beam_size", [1, 64], [0, 65]),
        ("translate.max_source_pieces", [8, 4096], [7, 4097]),
        ("translate.max_target_pieces", [8, 4096], [7, 4097]),
        ("translate.batch_tokens", [1, 1_048_576], [0, 1_048_577]),
        ("export.max_file_bytes", [1024], [1023]),
    ],
)
def test_the_bounds_of_a_value(key: str, accepted: list[object], refused: list[object]) -> None:
    section, name = key.split(".")
    assert [value for value in accepted if _error(section, name, value) is not None] == []
    assert [value for value in refused if _error(section, name, value) is None] == []


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("log.encoding", "latin-0", "no such text encoding; expected auto, utf-8, windows-1252, "),
        ("log.encoding", "utf-16", "this encoding does not extend ASCII; convert the files to "),
        ("log.format", "json", "no such format; did you mean 'jsonl'?"),
        ("log.time_format", "%Q", "expected a strptime format such as %d/%m/%Y %H:%M:%S; found"),
        ("log.time_zone", "Paris", "expected a time zone such as Europe/Paris; found 'Paris'"),
        ("clicks.model", "sdb", "unknown click model; did you mean 'sdbn'?; found 'sdb'"),
        ("clicks.prior_beta", 0.0, "expected more than 0.0; found 0.0"),
        ("qrels.credibility", 1.0, "expected less than 1.0; found 1.0"),
        ("qrels.shares", (0.5, 0.3, 0.3), "expected three shares from 0 to 1 with a sum of 1; "),
        ("qrels.cuts", (0.4, 0.2), "expected two cuts in strictly ascending order, above 0 and at"),
        ("changes.shingle", 101, "expected at most 100; found 101"),
        ("log.bot_alike", 1, "expected at least 2; found 1"),
        ("select.min_users", 0, "expected at least 1; found 0"),
        ("log.bot_rate", 1.5, "expected an integer; found 1.5"),
        ("log.list_separator", "", "expected at least 1 characters; found ''"),
        ("export.trec", "maybe", "expected true or false; found 'maybe'"),
        ("select.stop_lists", 1, "expected a list in brackets; found 1"),
        ("changes.rewritten", 1.0, "expected the threshold `rewritten` to be at most the threshol"),
        ("crawl.address", "https://a.example/", "expected a URL that contains the placeholder {id"),
        (
            "crawl.address",
            "https://{id}.example/",
            "expected an http or https URL with {id} in its path or query; found 'https",
        ),
    ],
)
def test_what_is_said_about_a_value(key: str, value: object, message: str) -> None:
    section, name = key.split(".")
    assert (_error(section, name, value) or "")[: len(message)] == message


@pytest.mark.parametrize(
    ("address", "is_accepted"),
    [
        ("https://a.example/works/{id}", True),
        ("http://a.example/?id={id}", True),
        ("https://a.example/{id}/{id}", False),
        ("https://a.example/#{id}", False),
        ("a.example/{id}", False),
    ],
)
def test_ids_are_distinct_urls(address: str, is_accepted: bool) -> None:
    assert (_error("log", "address", address) is None) is is_accepted


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("utf-8", True),
        ("windows-1252", True),
        ("gb18030", True),
        ("utf-16", False),
        ("utf-7", False),
        ("cp037", False),
        ("hex", False),
    ],
)
def test_encodings_that_extend_ascii(encoding: str, expected: bool) -> None:
    try:
        found = extends_ascii(encoding)
    except LookupError:
        found = False
    assert found is expected


@pytest.mark.parametrize("model", ["dbn", "ubm"])
@pytest.mark.parametrize(
    ("votes", "pages", "is_supported"),
    [
        ("impression", "separate", True),
        ("user", "separate", False),
        ("impression", "joined", False),
        ("user", "joined", False),
    ],
)
def test_only_one_model_counts_users_and_joins_pages(
    model: str, votes: str, pages: str, is_supported: bool
) -> None:
    section = {"votes": votes, "pages": pages}
    assert _clicks_error({"model": "sdbn", **section}) is None
    assert _clicks_error({"model": model, **section}) == (
        None
        if is_supported
        else 'Value error, votes = "user" and pages = "joined" are only supported by the click '
        f'model sdbn, found {model}; set votes = "impression" and pages = "separate", or model = '
        '"sdbn"'
    )


def _clicks_error(section: dict[str, str]) -> str | None:
    try:
        StageParameters.model_validate({"clicks": section})
    except ValidationError as error:
        return error.errors()[0]["msg"]
    return None


RELEVANCE, CREDIBLE = {"score": "relevance"}, {"policy": "credible"}


@pytest.mark.parametrize(
    ("model", "qrels", "message"),
    [
        ("sdbn", {**RELEVANCE, **CREDIBLE}, None),
        ("dbn", RELEVANCE, None),
        ("ccm", RELEVANCE, None),
        ("pbm", {}, None),
        *((model, RELEVANCE, "needs a click model that") for model in ("dcm", "ubm", "pbm")),
        *((f"{kind}-ctr", RELEVANCE, "needs a click model") for kind in ("document", "global")),
        ("dbn", CREDIBLE, "requires a click model that estimates posteriors"),
        ("rank-ctr", {}, "has no estimates per document and cannot be used for grading"),
    ],
)
def test_grades_need_what_the_click_model_estimates(
    model: str, qrels: dict[str, str], message: str | None
) -> None:
    sections = {"clicks": {"model": model}, "qrels": qrels}
    if message is None:
        StageParameters.model_validate(sections)
        return
    with pytest.raises(ValidationError, match=message):
        StageParameters.model_validate(sections)


def test_filters_of_verdicts_have_distinct_names() -> None:
    adult = {"name": "adult", "kind": "query", "label": "adult"}
    filters = {"filters": [adult, {**adult, "name": "bots", "kind": "user", "label": "bot"}]}
    (first, _) = StageParameters.model_validate({"verdicts": filters}).verdicts.filters
    assert (first.min_score, first.source) == (0.5, None)
    with pytest.raises(ValidationError, match="found two filters with the same name"):
        StageParameters.model_validate({"verdicts": {"filters": [adult, adult]}})


FORMAT_OF_BOTH = {"address", "scheme", "time_zone", "time_unit", "time_format", "fields", "format"}


def test_keys_that_describe_files_and_keys_that_a_snapshot_overrides() -> None:
    assert CrawlParameters.format_keys == FORMAT_OF_BOTH
    assert CrawlParameters.overridable == {*FORMAT_OF_BOTH, "text_format", "undated"}
    log = {
        *FORMAT_OF_BOTH,
        "click_form",
        "encoding",
        "columns",
        "list_separator",
        "session_start",
    }
    assert LogParameters.format_keys == log
    assert LogParameters.overridable == {*log, "undated"}
    others = [
        name
        for name, section in StageParameters()
        if name not in {"log", "crawl"} and (section.format_keys or section.overridable)
    ]
    assert others == []


def test_what_a_snapshot_does_not_set_stays() -> None:
    whole = LogParameters.model_validate(
        {"format": "csv", "fields": {"user": "who", "query": "q"}, "columns": ["a"]}
    )
    start = datetime(2022, 6, 1, tzinfo=UTC)
    own = LogParameters.model_validate(
        {"format": "auto", "fields": {"query": "text"}, "session_start": start}
    )
    found = whole.with_overrides(own)
    assert (found.format, found.columns, found.session_start) == ("auto", ("a",), start)
    assert (found.fields.user, found.fields.query, found.fields.time) == ("who", "text", "time")
    assert whole.format == "csv"


def test_fields_of_results_and_clicks_have_their_names_in_the_log() -> None:
    fields = LogParameters.model_validate(
        {"fields": {"url": "u", "rank": "r", "clicked": "c", "click_time": "t"}}
    ).fields
    assert fields.result_fields == {"url": "u", "rank": "r", "clicked": "c"}
    assert fields.click_fields == {"rank": "r", "url": "u", "time": "t"}


@pytest.mark.parametrize(
    ("module", "group", "key"),
    [("clicks", "click_models", "clicks.model"), ("logs", "log_readers", "log.format")],
)
def test_names_of_installed_plug_ins_are_accepted(
    module: str, group: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {group: {"mine": "package:function"}}
    monkeypatch.setattr(f"builder.parameters.{module}.find_plugins", found.get)
    section, name = key.split(".")
    assert _error(section, name, "mine") is None
    assert "did you mean 'mine'?" in (_error(section, name, "mina") or "")


@pytest.mark.parametrize(
    ("kind", "context", "message"),
    [
        ("int_parsing", {}, "expected an integer; found 'x'"),
        ("int_type", {}, "expected an integer; found 'x'"),
        ("float_parsing", {}, "expected a number; found 'x'"),
        ("float_type", {}, "expected a number; found 'x'"),
        ("bool_type", {}, "expected true or false; found 'x'"),
        ("dict_type", {}, "expected a section; found 'x'"),
        ("model_type", {}, "expected a section; found 'x'"),
        ("greater_than", {"gt": 2}, "expected more than 2; found 'x'"),
        ("less_than", {"lt": 2}, "expected less than 2; found 'x'"),
        ("enum", {"expected": "'a' or 'b'"}, "expected 'a' or 'b'; found 'x'"),
        (
            "string_pattern_mismatch",
            {"pattern": "^[a-z]{2,3}$"},
            "expected an ISO 639 code such as fr; found 'x'",
        ),
        (
            "string_pattern_mismatch",
            {"pattern": "^a$"},
            "expected a string matching ^a$; found 'x'",
        ),
        ("value_error", {}, "expected better; found 'x'"),
    ],
)
def test_errors_are_worded_as_expected_and_found(
    kind: str, context: dict[str, object], message: str
) -> None:
    error = {"type": kind, "ctx": context, "msg": "Value error, expected better", "input": "x"}
    assert rephrase_error({**error, "loc": ("log", "format")}) == message
    assert rephrase_error({**error, "loc": ()}) == message.removesuffix("; found 'x'")
    long = rephrase_error({**error, "loc": ("log",), "input": "y" * 100})
    assert long == message.replace("'x'", "'" + "y" * 79)
