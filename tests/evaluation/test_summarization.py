"""Temporal summarisation: worked cases, a naive transcription of the equations, file formats."""

import gzip
import math

import polars as pl
import pytest
from builder.errors import FormatError, UsageError
from builder.evaluation.summarization import summarization_paths
from builder.evaluation.summarization_measures import (
    EventMeasures,
    Nugget,
    Update,
    binary_relevance,
    earliest_matches,
    f_equation_26,
    graded_relevance,
    latency_discount,
    up_to,
)
from builder.evaluation.summarization_parameters import SummarizationParameters
from hypothesis import given, settings
from hypothesis import strategies as st

HOUR = 3600
NUGGETS = {
    "n1": Nugget(0, 3, 4),
    "n2": Nugget(6 * HOUR, 1, 6),
    "n3": Nugget(12 * HOUR, 2, 5),
    "n4": Nugget(0, 0, 5),
}
UPDATES = [
    Update(6 * HOUR, 10, {"n1": frozenset(range(4)), "n2": frozenset(range(2, 7))}),
    Update(12 * HOUR, 6, {"n1": frozenset(range(3)), "n2": frozenset(range(2))}),
    Update(12 * HOUR, 8, {"n3": frozenset(range(8))}),
]
GRADED = {name: graded_relevance(nugget.importance, 3) for name, nugget in NUGGETS.items()}


def exactly(value):
    return pytest.approx(value, rel=0, abs=1e-9)


CASES = [
    pytest.param(
        6 * HOUR,
        {
            "G": [0.6353352832366127, 0, 0.36787944117144233],
            "EG": 0.33440490813601836,
            "EG_V": 0.20900306758501147,
            "C": 0.645984266775929,
            "F_eq26": 0.15791192213243568,
            "F_harmonic": 0.31582384426487137,
            "integral": 36743.11161633814,
            "C_tau": [0.0, 0.4091014486860188, 0.645984266775929],
            "EG_tau": [0.0, 0.6353352832366127, 0.33440490813601836],
        },
        id="latency",
    ),
    pytest.param(
        None,
        {
            "G": [1.1353352832366126, 0, 0.36787944117144233],
            "EG": 0.5010715748026849,
            "EG_V": 0.31316973425167804,
            "C": 0.9679413967199151,
            "F_eq26": 0.23661487489542027,
            "F_harmonic": 0.47322974979084054,
            "integral": 57605.93363670844,
            "C_tau": [0.0, 0.7310585786300049, 0.9679413967199151],
            "EG_tau": [0.0, 1.1353352832366126, 0.5010715748026849],
        },
        id="free",
    ),
]


@pytest.mark.parametrize(("step", "expected"), CASES)
def test_small_case(step, expected):
    measures = EventMeasures(NUGGETS, GRADED, step)
    scores = measures.scores(UPDATES)
    assert earliest_matches(UPDATES) == {"n1": 0, "n2": 0, "n3": 2}
    assert measures.gains(UPDATES) == exactly(expected["G"])
    assert measures.verbosities(UPDATES) == exactly([1.6, 2.2, 1.0])
    assert scores.expected_gain == exactly(expected["EG"])
    assert scores.expected_gain_verbosity == exactly(expected["EG_V"])
    assert scores.comprehensiveness == exactly(expected["C"])
    assert scores.f_equation_26 == exactly(expected["F_eq26"])
    assert scores.f_harmonic == exactly(expected["F_harmonic"])
    integral = measures.comprehensiveness_integral(UPDATES, 0, 24 * HOUR)
    assert integral == exactly(expected["integral"])
    over_time = [measures.scores(up_to(UPDATES, tau)) for tau in (21_600, 21_601, 43_201)]
    assert [s.comprehensiveness for s in over_time] == exactly(expected["C_tau"])
    assert [s.expected_gain for s in over_time] == exactly(expected["EG_tau"])


@pytest.mark.parametrize(
    ("delay", "expected"),
    [
        (0, 1.0),
        (21_600, 0.5),
        (-21_600, 1.5),
        (86_400, 0.1559582607547385),
        (-86_400, 1.8440417392452615),
    ],
)
def test_latency_discount(delay, expected):
    assert latency_discount(0, delay) == exactly(expected)
    assert latency_discount(10**9, 10**9 + delay) == exactly(expected)


def test_graded_relevance():
    expected = [0.049787068367863944, 0.1353352832366127, 0.36787944117144233, 1.0]
    assert [graded_relevance(i, 3) for i in range(4)] == exactly(expected)


def test_perfect_system():
    nuggets = {name: nugget for name, nugget in NUGGETS.items() if name != "n4"}
    relevance = {name: binary_relevance(nugget.importance) for name, nugget in nuggets.items()}
    updates = [
        Update(nugget.time, nugget.words, {name: frozenset(range(nugget.words))})
        for name, nugget in nuggets.items()
    ]
    measures = EventMeasures(nuggets, relevance, 6 * HOUR)
    scores = measures.scores(updates)
    assert measures.verbosities(updates) == [1.0, 1.0, 1.0]
    assert scores.expected_gain == exactly(1)
    assert scores.expected_gain_verbosity == exactly(1)
    assert scores.comprehensiveness == exactly(1)
    assert (scores.f_equation_26, scores.f_harmonic) == (exactly(0.5), exactly(1))


def test_an_empty_run_gains_nothing():
    scores = EventMeasures(NUGGETS, GRADED, None).scores([])
    assert (scores.expected_gain, scores.expected_gain_verbosity) == (0.0, 0.0)
    assert (scores.comprehensiveness, scores.f_harmonic, scores.matched) == (0.0, 0.0, 0)
    assert EventMeasures(NUGGETS, GRADED, None).comprehensiveness_integral([], 0, 10) == 0.0


def test_without_a_relevant_nugget_comprehensiveness_is_undefined():
    measures = EventMeasures({"n4": NUGGETS["n4"]}, {"n4": 0.0}, None)
    scores = measures.scores(UPDATES[:0])
    assert (scores.expected_gain, scores.comprehensiveness, scores.f_harmonic) == (0.0, None, None)
    assert measures.comprehensiveness_integral([], 0, 10) is None


def test_f_of_nothing_is_zero():
    assert f_equation_26(0.0, 0.0) == 0.0


def test_of_updates_of_one_second_the_first_pushed_counts():
    twins = [Update(5, 3, {"n1": frozenset({0})}), Update(5, 9, {"n1": frozenset({1})})]
    assert earliest_matches(twins) == {"n1": 0}
    assert earliest_matches(twins[::-1]) == {"n1": 0}


names = st.sampled_from(["n1", "n2", "n3", "n4"])
nugget_sets = st.dictionaries(
    names,
    st.builds(Nugget, st.integers(-90_000, 90_000), st.integers(0, 3), st.integers(1, 9)),
    min_size=1,
)
update_lists = st.lists(
    st.builds(
        Update,
        st.integers(0, 90_000),
        st.just(9),
        st.dictionaries(names, st.frozensets(st.integers(0, 8))),
    ),
    max_size=6,
)


def naive(nuggets, updates, step):
    """EG, EG_V and C: equations 5, 7 to 12, 15, 19, 22 and 24, word for word."""
    top = max(n.importance for n in nuggets.values())
    R = {n: math.exp(v.importance) / math.exp(top) for n, v in nuggets.items()}  # noqa: N806

    def M(n):  # noqa: N802
        matching = [u for u in updates if n in u.matches]
        return min(matching, key=lambda u: u.t if hasattr(u, "t") else u.time, default=None)

    def L(n, u):  # noqa: N802
        return 1 - 2 / math.pi * math.atan((u.time - nuggets[n].time) / step) if step else 1

    def V(u):  # noqa: N802
        words = set()
        for n in nuggets:
            if M(n) is u:
                words |= u.matches[n]
        average = sum(v.words for v in nuggets.values()) / len(nuggets)
        return 1 + (u.words - len(words)) / average

    total = sum(R[n] * L(n, M(n)) for n in nuggets if M(n))
    if not updates:
        return 0, 0, 0
    return total / len(updates), total / sum(map(V, updates)), total / sum(R.values())


@settings(max_examples=1000, deadline=None)
@given(nugget_sets, update_lists, st.sampled_from([None, 6 * HOUR]), st.integers(0, 90_000))
def test_agrees_with_a_naive_transcription(nuggets, updates, step, tau):
    updates = [
        Update(u.time, u.words, {n: w for n, w in u.matches.items() if n in nuggets})
        for u in updates
    ]
    top = max(nugget.importance for nugget in nuggets.values())
    relevance = {name: graded_relevance(n.importance, top) for name, n in nuggets.items()}
    measures = EventMeasures(nuggets, relevance, step)
    for pushed in (updates, up_to(updates, tau)):
        scores = measures.scores(pushed)
        eg, eg_v, c = naive(nuggets, pushed, step)
        assert scores.expected_gain == exactly(eg)
        assert scores.expected_gain_verbosity == exactly(eg_v)
        assert scores.comprehensiveness == exactly(c)
        assert scores.f_harmonic == exactly(2 * eg_v * c / (eg_v + c) if eg_v + c else 0)


@settings(max_examples=300, deadline=None)
@given(nugget_sets, update_lists, st.integers(0, 40_000), st.integers(1, 50_000))
def test_the_integral_is_that_of_the_step_function(nuggets, updates, start, length):
    updates = [
        Update(u.time, u.words, {n: w for n, w in u.matches.items() if n in nuggets})
        for u in updates
    ]
    relevance = dict.fromkeys(nuggets, 1.0)
    measures = EventMeasures(nuggets, relevance, 6 * HOUR)
    end = start + length
    edges = sorted({start, end, *(u.time for u in updates if start < u.time < end)})
    area = sum(
        measures.scores(up_to(updates, (left + right) / 2)).comprehensiveness * (right - left)
        for left, right in zip(edges, edges[1:], strict=False)
    )
    assert measures.comprehensiveness_integral(updates, start, end) == pytest.approx(
        area, rel=1e-9, abs=1e-6
    )


U1 = "ten words of text where four and seven words match"
NUGGET_LINES = [
    "query_id\tnugget_id\ttimestamp\timportance\tlength\ttext",
    "TS14.1\tn1\t0\t3\t4\tone two three four",
    "TS14.1\tn2\t21600\t1\t6\t",
    "TS14.1\tn3\t43200\t2\t5",
    "TS14.1\tn4\t0\t0\t5\t",
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
        return summarization_paths(
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
    assert latency["f_equation_26"] == exactly(0.15791192213243568)
    assert latency["comprehensiveness_integral"] == exactly(36743.11161633814)
    assert latency["comprehensiveness_integral_mean"] == exactly(0.4252674955594692)
    assert free["f_harmonic"] == exactly(0.47322974979084054)
    assert (free["updates"], free["matched"], free["nuggets"]) == (3, 3, 4)
    taus = report.taus.filter(pl.col("gain") == "latency")
    assert taus["tau"].to_list() == [21_600, 21_601, 43_201]
    assert taus["comprehensiveness"].to_list() == exactly([0, 0.4091014486860188, 0.645984266775929])


def test_spans_in_words_need_no_texts(files):
    files.lines["updates.tsv"] = [
        line.rsplit("\t", 1)[0] if number else line for number, line in enumerate(UPDATE_LINES)
    ]
    spans = [(0, 4), (2, 7), (0, 3), (0, 2), (0, 8)]
    files.lines["matches.tsv"] = [
        "\t".join([*line.split("\t")[:3], str(a), str(b)])
        for line, (a, b) in zip(MATCH_LINES[1:], spans, strict=True)
    ]
    latency = files.score(spans="words").events.row(1, named=True)
    assert latency["expected_gain_verbosity"] == exactly(0.20900306758501147)
    with pytest.raises(FormatError, match=r"matches\.tsv, line 1: .*with a text"):
        files.score()


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
    assert report.ignored.rows() == [("update that is not pooled: unmatched", 1)]
    ignored = files.score(unpooled="ignored")
    assert ignored.events["expected_gain_verbosity"][1] == exactly(0.20900306758501147)


def test_nuggets_of_no_importance_can_be_dropped(files):
    report = files.score(zero_importance="dropped", relevance="binary")
    row = report.events.row(0, named=True)
    assert (row["nuggets"], row["comprehensiveness"]) == (3, exactly(1))


def test_means_over_events_count_events_without_updates(files):
    files.lines["nuggets.tsv"].append("2\tm1\t0\t3\t4\t")
    report = files.score()
    events = report.events.filter(pl.col("gain") == "free")
    assert events["event"].to_list() == ["1", "2"]
    assert events["expected_gain"][1] == 0.0
    mean = report.means.filter(pl.col("gain") == "free").row(0, named=True)
    assert mean["events"] == 2
    assert mean["expected_gain"] == exactly(0.5010715748026849 / 2)
    assert mean["comprehensiveness_integral"] == exactly(57605.93363670844)


def test_what_is_left_out_is_counted(files):
    files.lines["run.gz"].append("9 team run x 7 50000 1")
    files.lines["matches.tsv"] += ["1\td-1\tn9\t0\t5", "1\tz-1\tn1\t0\t5", "9\tz-1\tn1\t0\t5"]
    assert dict(files.score().ignored.rows()) == {
        "match of an update that is not pooled": 1,
        "match with an unknown nugget": 1,
        "update of a run for an event without nuggets": 1,
        "update or match of an event without nuggets": 1,
    }


@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        ("nuggets.tsv", "1\tn9\tsoon\t3\t4\t", "unix time"),
        ("nuggets.tsv", "1\tn9\t0\tnan\t4\t", "importance"),
        ("nuggets.tsv", "1\tn9\t0\t3\t0\t", "1 or more words"),
        ("nuggets.tsv", "1\tn9\t0\t-1\t4\t", "importance of 0"),
        ("nuggets.tsv", "1\tn1\t0\t3\t4\t", "once"),
        ("nuggets.tsv", "1\tn9\t0\t3", "5 or more fields"),
        ("updates.tsv", "1\td-1\td\t1\t10\tNULL\tagain", "once"),
        ("updates.tsv", "1\td-9\td\t1\tten\tNULL\ttext", "words"),
        ("matches.tsv", "1\td-1\tn1\t5\t4", "start <= end"),
        ("matches.tsv", "1\td-1\tn1\t-1\t4", "start <= end"),
        ("matches.tsv", "1\td-1\tn1\t0", "5 or more fields"),
        ("run.gz", "1 team run d 1 21600", "7 fields"),
        ("run.gz", "1 team run d 1 21600.5 1", "unix time"),
        ("run.gz", "1 team run d 1 21600 nan", "confidence"),
    ],
)
def test_malformed_lines_are_named(files, file, line, message):
    files.lines[file].append(line)
    number = len(files.lines[file])
    with pytest.raises(FormatError, match=rf"{file}, line {number}: .*{message}"):
        files.score()


@pytest.mark.parametrize("text", ["1\t5\t5\n", "1\t0\t9\n1\t0\t9\n", "1\t0\n", "1\t0\tlate\n"])
def test_malformed_events_are_named(files, text):
    files.events.write_text(text)
    with pytest.raises(FormatError, match=r"events\.tsv, line"):
        files.score()


def test_malformed_topics_are_named(files):
    files.events = files.folder / "topics.xml"
    files.events.write_text("<events><event>")
    with pytest.raises(FormatError, match="XML topics"):
        files.score()


def test_a_system_comes_in_one_file(files):
    files.score()
    paths = [files.folder / name for name in ("nuggets.tsv", "updates.tsv", "matches.tsv")]
    with pytest.raises(UsageError, match="each system in one file"):
        summarization_paths(*paths, [files.folder / "run.gz"] * 2)
    files.lines["run.gz"] = []
    with pytest.raises(UsageError, match="one or more runs"):
        files.score()


@pytest.mark.parametrize(
    "wrong",
    [
        {"relevance": "none"},
        {"zero_importance": "half"},
        {"spans": "bytes"},
        {"unpooled": "maybe"},
        {"latency_step": 0},
    ],
)
def test_parameters_are_checked(wrong):
    with pytest.raises(UsageError):
        SummarizationParameters(**wrong)


def test_taus_need_the_start_of_events(files):
    with pytest.raises(UsageError, match="events file"):
        files.score(events=False, taus=(10,))
    report = files.score(events=False)
    assert report.events["comprehensiveness_integral"].to_list() == [None, None]
