"""Temporal summarization: its files, what is left out and counted, reports."""

import gzip

import polars as pl
import pytest

from builder.errors import FormatError, UsageError
from builder.tasks.summarization.parameters import SummarizationParameters
from builder.tasks.summarization.score import evaluate_summaries


def exactly(value):
    return pytest.approx(value, rel=0, abs=1e-9)


U1 = "ten words of text where four and seven words match"
NUGGET_LINES = [
    "query_id\tnugget_id\ttimestamp\timportance\tlength\ttext",
    "TS14.1\tn1\t0\t3\t18\tone two three four",
    "TS14.1\tn2\t21600\t1\t11\ta b c d e f",
    "TS14.1\tn3\t43200\t2\t9\tg h i j k",
    "TS14.1\tn4\t0\t0\t9\tl m n o p",
]
UPDATE_LINES = [
    "query_id\tupdate_id\tdocument_id\tsentence_id\tupdate_length\tduplicate_id\tupdate_text",
    f"1\td-1\td\t1\t10\tNULL\t{U1}",
    "1\td-2\td\t2\t6\tNULL\ta b c d e f",
    "1\td-3\td\t3\t8\tNULL\tsome eight words that all match one nugget",
    "1\te-1\te\t1\t10\td-1\t" + U1,
]
MATCH_LINES = [
    "query_id\tupdate_id\tnugget_id\tmatch_start\tmatch_end\tauto_p",
    "1\td-1\tn1\t0\t16\t0",
    "1\td-1\tn2\t11\t33\t0",
    "1\td-2\tn1\t0\t5",
    "1\td-2\tn2\t0\t3",
    "1\td-3\tn3\t0\t999",
]
RUN_LINES = [
    "TS14.1 team run d 1 21600 0.5",
    "TS14.1 team run d 2 43200 0.5",
    "TS14.1 team run d 3 43200 inf",
]
EVENTS = "1\t0\t86400\n"
TOPICS = "<events><event><id>TS14.1</id><start>0</start><end>86400</end></event></events>"


class Files:
    """The five files of a small event, changed at will."""

    def __init__(self, folder):
        self.folder = folder
        self.lines = {
            "nuggets.tsv": list(NUGGET_LINES),
            "updates.tsv": list(UPDATE_LINES),
            "matches.tsv": list(MATCH_LINES),
            "run.gz": list(RUN_LINES),
        }
        self.events = folder / "events.tsv"
        self.events.write_text(EVENTS)

    def score(self, *, events=True, **parameters):
        for name, lines in self.lines.items():
            data = "".join(f"{line}\n" for line in lines).encode()
            (self.folder / name).write_bytes(gzip.compress(data) if name == "run.gz" else data)
        paths = [self.folder / name for name in list(self.lines)[:3]]
        return evaluate_summaries(
            *paths,
            [self.folder / "run.gz"],
            self.events if events else None,
            SummarizationParameters(**parameters),
        )


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


@pytest.mark.parametrize("events", ["events.tsv", "topics.xml"])
def test_the_small_case_from_files(files, events):
    files.events = files.folder / events
    files.events.write_text(TOPICS if events == "topics.xml" else EVENTS)
    report = files.score(taus=(21_600, 21_601, 43_201))
    free, latency = report.events.rows(named=True)
    assert (latency["system"], latency["event"], latency["gain"]) == ("team-run", "1", "latency")
    assert latency["expected_gain"] == exactly(0.33440490813601836)
    assert latency["expected_gain_verbosity"] == exactly(0.20900306758501147)
    assert latency["comprehensiveness"] == exactly(0.645984266775929)
    assert latency["f_half_harmonic"] == exactly(0.15791192213243568)
    assert latency["comprehensiveness_integral"] == exactly(36743.11161633814)
    assert latency["comprehensiveness_integral_mean"] == exactly(0.4252674955594692)
    assert free["f_harmonic"] == exactly(0.47322974979084054)
    assert (free["updates"], free["matched"], free["nuggets"]) == (3, 3, 4)
    taus = report.taus.filter(pl.col("gain") == "latency")
    assert taus["tau"].to_list() == [21_600, 21_601, 43_201]
    assert taus["comprehensiveness"].to_list() == exactly(
        [0, 0.4091014486860188, 0.645984266775929]
    )


def test_lengths_are_counted_from_the_texts(files):
    expected = files.score().events
    for name, index in (("nuggets.tsv", 4), ("updates.tsv", 4)):
        header, *rows = [line.split("\t") for line in files.lines[name]]
        changed = ["\t".join([*r[:index], "7", *r[index + 1 :]]) for r in rows]
        files.lines[name] = ["\t".join(header), *changed]
    assert files.score().events.equals(expected)


def test_tabs_within_texts_are_spaces(files):
    files.lines["nuggets.tsv"][1] = "TS14.1\tn1\t0\t3\t18\tone two\tthree four"
    assert files.score().events["expected_gain_verbosity"][1] == exactly(0.20900306758501147)


def test_an_exact_duplicate_matches_like_its_original(files):
    files.lines["run.gz"] = ["1 team run e 1 21600 1", *RUN_LINES[1:]]
    assert files.score().events["expected_gain"].to_list() == exactly(
        [0.5010715748026849, 0.33440490813601836]
    )


def test_a_second_push_gains_nothing_and_costs_its_words(files):
    once = files.score().events.row(0, named=True)
    files.lines["run.gz"].append("1 team run d 1 50000 1")
    twice = files.score().events.row(0, named=True)
    assert twice["comprehensiveness"] == once["comprehensiveness"]
    assert twice["expected_gain"] == exactly(once["expected_gain"] * 3 / 4)


def test_updates_that_no_assessor_saw(files):
    files.lines["run.gz"].append("1 team run x 7 50000 1")
    report = files.score()
    total = 0.20900306758501147 * 4.8
    assert report.events["expected_gain_verbosity"][1] == exactly(total / (4.8 + 2))
    assert report.ignored.rows() == [("unpooled update: unmatched", 1)]
    ignored = files.score(unpooled="ignored")
    assert ignored.events["expected_gain_verbosity"][1] == exactly(0.20900306758501147)


def test_nuggets_of_no_importance_can_be_dropped(files):
    report = files.score(zero_importance="dropped", relevance="binary")
    row = report.events.row(0, named=True)
    assert (row["nuggets"], row["comprehensiveness"]) == (3, exactly(1))


def test_means_over_events_count_events_without_updates(files):
    files.lines["nuggets.tsv"].append("2\tm1\t0\t3\t4\tq r s t")
    report = files.score()
    events = report.events.filter(pl.col("gain") == "free")
    assert events["event"].to_list() == ["1", "2"]
    assert events["expected_gain"][1] == 0.0
    mean = report.means.filter(pl.col("gain") == "free").row(0, named=True)
    assert mean["events"] == 2
    assert mean["expected_gain"] == exactly(0.5010715748026849 / 2)
    assert mean["comprehensiveness_integral"] == exactly(57605.93363670844)


def test_means_over_events_at_each_tau(files):
    files.lines["nuggets.tsv"].append("2\tm1\t0\t3\t4\tq r s t")
    files.events.write_text("1\t0\t86400\n2\t500\t1000\n")
    report = files.score(taus=(21_601,))
    free = report.tau_means.filter(pl.col("gain") == "free").row(0, named=True)
    assert (free["system"], free["tau"], free["events"]) == ("team-run", 21_601, 2)
    assert free["expected_gain"] == exactly(1.1353352832366126 / 2)


def test_scores_are_ordered_by_system_and_event(files):
    """Means are over the events with a value: a mean nugget of importance 0 is not relevant."""
    files.lines["nuggets.tsv"] += ["2\tm1\t0\t0\t4\tq r s t", "10\tm1\t0\t2\t4\tq r s t"]
    files.lines["run.gz"] += ["1 a run d 3 43200 1", "2 a run d 3 43200 1"]
    report = files.score(relevance="binary")
    assert report.events.select("system", "event", "gain").rows() == [
        (system, event, gain)
        for system in ("a-run", "team-run")
        for event in ("1", "10", "2")
        for gain in ("free", "latency")
    ]
    first, _, second, _ = report.means.rows(named=True)
    assert (first["system"], first["gain"], first["events"]) == ("a-run", "free", 3)
    assert first["comprehensiveness"] == exactly((1 / 3 + 0) / 2)
    assert first["expected_gain"] == exactly(1 / 3)
    assert (second["system"], second["comprehensiveness"]) == ("team-run", exactly((1 + 0) / 2))
    undefined = report.events.filter(event="2", system="a-run", gain="free").row(0, named=True)
    assert (undefined["updates"], undefined["expected_gain"]) == (1, 0)
    assert (undefined["comprehensiveness"], undefined["f_harmonic"]) == (None, None)
    assert report.ignored.rows() == [("unpooled update: unmatched", 1)]


def test_what_is_left_out_is_counted(files):
    files.lines["run.gz"].append("9 team run x 7 50000 1")
    files.lines["matches.tsv"] += ["1\td-1\tn9\t0\t5", "1\tz-1\tn1\t0\t5", "9\tz-1\tn1\t0\t5"]
    assert dict(files.score().ignored.rows()) == {
        "match with an unpooled update": 1,
        "match with an unknown nugget": 1,
        "update of a run for an event without nuggets": 1,
        "update or match that refers to an event without nuggets": 1,
    }


@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        (
            "nuggets.tsv",
            "1\tn9\tsoon\t3\t4\ttext",
            r"expected an integer as unix time \(field 3\), found 'soon'$",
        ),
        (
            "nuggets.tsv",
            "query_id\tnugget_id\ttimestamp\timportance\tlength\ttext",
            r"expected a number as importance \(field 4\), found 'importance'$",
        ),
        ("matches.tsv", "1\td-1\tn1\tmatch_start\tmatch_end", r"start \(field 4\), found"),
        ("matches.tsv", "1\td-1\tn1\t0\tmatch_end", r"end \(field 5\), found 'match_end'$"),
        ("matches.tsv", "1" + "x" * 130, f"tab-separated fields, found '1{'x' * 119}'$"),
        ("run.gz", "1 team run d 1 21600 1 1", "7 whitespace-separated fields, found"),
        ("run.gz", "1 " + "x" * 130, f"7 whitespace-separated fields, found '1 {'x' * 118}'$"),
        ("run.gz", "1 team run d sentence time confidence", "a number as confidence"),
        ("run.gz", "1 team run d 1 21600 1e", r"confidence \(field 7\), found '1e'$"),
        ("nuggets.tsv", "1\tn9\t0\tnan\t4\ttext", "importance"),
        ("nuggets.tsv", "1\tn9\t0\t3\t-1\ttext", "a length of at least 0"),
        ("nuggets.tsv", "1\tn9\t0\t-0.5\t4\ttext", "an importance and a length of at least 0"),
        ("nuggets.tsv", "1\tn9\t0\t3\t4", r"text of the nugget as field 6"),
        ("nuggets.tsv", "1\tn9\t0\t3\t4\t ", r"text of the nugget as field 6"),
        ("nuggets.tsv", "1\tn9\t0\t-1\t4\ttext", "an importance"),
        ("nuggets.tsv", "1\tn1\t0\t3\t4\ttext", "unique in its event"),
        ("nuggets.tsv", "1\tn9\t0\t3", "at least 5 tab-separated fields"),
        ("updates.tsv", "1\td-1\td\t1\t10\tNULL\tagain", "a unique update id"),
        ("updates.tsv", "1\td-9\td\t1\tten\tNULL\ttext", "length"),
        ("updates.tsv", "1\td-9\td\t1\t-1\tNULL\ttext", "length"),
        ("updates.tsv", "1\td-9\td\t1\t10\tNULL", r"text of the update as field 7"),
        ("matches.tsv", "1\td-1\tn1\t5\t4", "start <= end"),
        ("matches.tsv", "1\td-1\tn1\t-1\t4", "start <= end"),
        ("matches.tsv", "1\td-1\tn1\t0", "at least 5 tab-separated fields"),
        ("run.gz", "1 team run d 1 21600", "7 whitespace-separated fields"),
        ("run.gz", "1 team run d 1 21600.5 1", "unix time"),
        ("run.gz", "1 team run d 1 21600 nan", "confidence"),
    ],
)
def test_malformed_lines_are_named(files, file, line, message):
    files.lines[file].append(line)
    number = len(files.lines[file])
    with pytest.raises(FormatError, match=rf"{file}, line {number}: .*{message}"):
        files.score()


@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        ("nuggets.tsv", "1\tn1\tx\t3\t18\tone two", "unix time"),
        ("nuggets.tsv", "1\tn1\t0\tx\t18\tone two", "importance"),
        ("nuggets.tsv", "1\tn1\tx\ty\t18\tone two", "importance"),
        ("nuggets.tsv", "1\tn1\t\thigh\t\tone two", "importance"),
        ("updates.tsv", "1\td-1\td\t1\tx\tNULL\tone two", "length"),
        ("matches.tsv", "1\td-1\tn1\tx\t4", "start"),
        ("matches.tsv", "1\td-1\tn1\t0\tx", "end"),
    ],
)
def test_a_first_line_without_names_of_all_fields_is_no_header(files, file, line, message):
    files.lines[file][0] = line
    with pytest.raises(FormatError, match=rf"{file}, line 1: .*{message}"):
        files.score()


@pytest.mark.parametrize(("events", "field"), [("1\tx\t86400\n", "start"), ("1\t0\tx\n", "end")])
def test_a_first_event_with_one_number_is_no_header(files, events, field):
    files.events.write_text(events)
    with pytest.raises(FormatError, match=f"an integer as {field}"):
        files.score()


@pytest.mark.parametrize("text", ["1\t5\t5\n", "1\t0\t9\n1\t0\t9\n", "1\t0\n", "1\t0\tlate\n"])
def test_malformed_events_are_named(files, text):
    files.events.write_text(text)
    with pytest.raises(FormatError, match=r"events\.tsv, line"):
        files.score()


def test_texts_without_a_length_are_read(files):
    """Such an update may have no text at all; it then matches what its original matches."""
    files.lines["nuggets.tsv"].append("1\tn5\t0\t0\t0\tlast one")
    files.lines["updates.tsv"] += [
        "1\tf-1\tf\t1\t0",
        "1\tf-2\tf\t2\t0\td-1",
        "1\tf-3\tf\t3\t0\tf-3",
    ]
    files.lines["matches.tsv"].append("1\td-2\tn3\t2\t2")
    files.lines["run.gz"] = ["1 team run f 1 0 1"]
    row = files.score().events.row(0, named=True)
    assert (row["nuggets"], row["updates"], row["matched"]) == (5, 1, 0)
    assert row["expected_gain_verbosity"] == 0
    files.lines["run.gz"] = ["1 team run f 2 0 1"]
    assert files.score().events["matched"].to_list() == [2, 2]
    files.lines["run.gz"] = ["1 team run f 2 0 1", "1 team run f 3 0 1", "1 team run d 2 9 1"]
    row = files.score().events.row(0, named=True)
    assert (row["updates"], row["matched"]) == (3, 3)


def test_the_first_of_two_malformed_topics_is_named_by_its_number(files):
    files.events = files.folder / "topics.xml"
    event = "<event><id>{}</id><start>0</start><end>{}</end></event>"
    files.events.write_text(f"<events>{event.format(1, 9)}{event.format(2, '')}</events>")
    with pytest.raises(FormatError) as error:
        files.score()
    assert str(error.value) == (
        f"{files.events}, line 2: expected an integer as end (field 3), found ''"
    )
    files.events.write_text(f"<events>{event.format(1, 9)}<event><id>2</id></event></events>")
    with pytest.raises(FormatError, match=r"line 2: expected an integer as start \(field 2\)"):
        files.score()


def test_the_maximum_importance_may_be_given(files):
    """With 4 instead of 3, every relevance falls by the factor e, but not the completeness."""
    before, after = (files.score(max_importance=m).events for m in (None, 4))
    assert after["expected_gain"].to_list() == exactly(
        [value / 2.718281828459045 for value in before["expected_gain"]]
    )
    assert after["comprehensiveness"].to_list() == exactly(before["comprehensiveness"].to_list())


def test_blank_lines_are_skipped(files):
    expected = files.score().events
    files.lines = {name: [*lines[:2], "", *lines[2:]] for name, lines in files.lines.items()}
    assert files.score().events.equals(expected)


def test_malformed_topics_are_named(files):
    files.events = files.folder / "topics.xml"
    files.events.write_text("<events><event>")
    with pytest.raises(FormatError, match="XML topics"):
        files.score()


def test_runs_may_have_a_header(files):
    expected = files.score().events
    header = "query_id team_id run_id document_id sentence_id timestamp confidence"
    files.lines["run.gz"].insert(0, header)
    assert files.score().events.equals(expected)


def test_a_first_update_with_a_wrong_time_is_no_header(files):
    files.lines["run.gz"].insert(0, "1 team run d 1 soon inf")
    with pytest.raises(FormatError, match=r"run\.gz, line 1: expected an integer as unix time"):
        files.score()


def test_the_integral_begins_with_the_event(files):
    """All updates were pushed when the event starts, so the completeness is constant."""
    files.events.write_text("1\t43200\t86400\n")
    free = files.score().events.row(0, named=True)
    assert free["comprehensiveness_integral"] == pytest.approx(43_200 * free["comprehensiveness"])
    assert free["comprehensiveness_integral_mean"] == exactly(0.9679413967199151)


def test_compressed_topics_are_read(files):
    files.events = files.folder / "topics.xml.gz"
    files.events.write_bytes(gzip.compress(TOPICS.encode()))
    assert files.score().events["comprehensiveness_integral_mean"][1] == exactly(0.4252674955594692)


def test_a_system_comes_in_one_file(files):
    files.score()
    paths = [files.folder / name for name in ("nuggets.tsv", "updates.tsv", "matches.tsv")]
    with pytest.raises(UsageError, match="each system in only one run file"):
        evaluate_summaries(*paths, [files.folder / "run.gz"] * 2)
    files.lines["run.gz"] = []
    with pytest.raises(UsageError, match="at least one pushed update"):
        files.score()


@pytest.mark.parametrize(
    "wrong",
    [
        {"relevance": "none"},
        {"zero_importance": "half"},
        {"unpooled": "maybe"},
        {"latency_step": 0},
        {"max_importance": float("nan")},
        {"taus": (60, 60)},
        {"taus": (0,)},
        {"taus": (60, -1)},
        {"latency_step": -1},
        {"max_importance": float("inf")},
    ],
)
def test_parameters_are_checked(wrong):
    with pytest.raises(UsageError):
        SummarizationParameters(**wrong)


def test_the_documented_defaults_of_parameters():
    parameters = SummarizationParameters()
    assert {name: getattr(parameters, name) for name in parameters.__slots__} == {
        "relevance": "graded",
        "max_importance": None,
        "zero_importance": "kept",
        "latency_step": 21_600,
        "unpooled": "unmatched",
        "taus": (),
    }
    for allowed in ({"latency_step": 0.5}, {"taus": (1, 2)}, {"max_importance": 0}):
        assert SummarizationParameters(**allowed) != parameters


def test_taus_need_the_start_of_events(files):
    with pytest.raises(UsageError, match="events file"):
        files.score(events=False, taus=(10,))
    report = files.score(events=False)
    assert report.events["comprehensiveness_integral"].to_list() == [None, None]


def test_files_that_do_not_match_are_told(files):
    def message():
        with pytest.raises(UsageError) as error:
            files.score()
        return str(error.value)

    such = "of events with nuggets, such as '1', found"
    files.events.write_text("2\t0\t86400\n")
    assert message() == f"expected the start and end {such} ['2']"
    files.events.write_text(EVENTS)
    files.lines["run.gz"] += ["9 team other d 1 21600 0.5", "01 team other d 1 21600 0.5"]
    assert message() == f"expected updates of team-other {such} ['01', '9']"
    files.lines["nuggets.tsv"] = files.lines["nuggets.tsv"][:1]
    nuggets = str(files.folder / "nuggets.tsv")
    assert message() == f"expected at least one nugget, found {nuggets!r}"
