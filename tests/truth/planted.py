"""Changes of known cause: what an organiser changes, and what the web and its users change.

A change works on the second month of a simulated world: its crawl and its log, as parsed records
in order (`World`), or its definition, as lines that are appended or topics that are deleted. Each
draws from a generator of its own, so that the same seed plants the same change.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tests.truth import events, faults
from tests.truth.month import Draw, World


@dataclass(frozen=True)
class Cause:
    """One planted change.

    Args:
        name: What happens.
        check: The check that must name it; None for a change of the world.
        change: Changes the raw data of the second month.
        definition: Lines for the definition by which the second month is built.
        deleted_topics: Number of topics deleted from the list for the second month.
        shifted: Whether judgements are attached to the next query.
    """

    name: str
    check: str | None = None
    change: Callable[[World, Draw], None] | None = None
    definition: str = ""
    deleted_topics: int = 0
    shifted: bool = False


FIXED_PRIOR = '[clicks]\nprior = "beta"\nprior_alpha = 4.0\nprior_beta = 4.0\n'

CAUSES = (
    Cause("30 % of pages missing", "crawl_holds_shown", faults.lose_pages),
    Cause("a third of hosts missing", "hosts_are_crawled", faults.lose_hosts),
    Cause("texts cut at 400 characters", "texts_end_freely", faults.cut_texts),
    Cause("two topics deleted", "topics_are_the_same", deleted_topics=2),
    Cause("minimum of users 5 -> 20", "floors_stand", definition="[select]\nmin_users = 20\n"),
    Cause("grade thresholds moved", "cuts_stand", definition="[qrels]\ncuts = [0.25, 0.55]\n"),
    Cause("another prior", "priors_stand", definition=FIXED_PRIOR),
    Cause("another click model", "priors_stand", definition='[clicks]\nmodel = "pbm"\n'),
    Cause("qrels shifted by one query", "pages_mention_queries", shifted=True),
    Cause("pages as HTML", "texts_are_read_alike", faults.keep_tags),
    Cause("language filter off", "languages_stand", faults.add_english),
    Cause("impressions without a click left out", "clicks_are_recorded", faults.drop_clickless),
    Cause("only the first click recorded", "clicks_are_recorded", faults.keep_first_click),
    Cause("clicks one rank too low", "clicks_are_recorded", faults.move_clicks),
    Cause("result lists cut at rank 5", "lists_are_recorded", faults.cut_lists),
    Cause("clicks recorded for the next impression", "grades_recur", faults.shift_clicks),
    Cause("result lists reversed", "grades_recur", faults.reverse_lists),
    Cause("texts in lower case", "some_texts_stay", faults.lower_texts),
    Cause("clicks x .5", None, events.halve_clicks),
    *(Cause(f"attractiveness x {f}", None, events.weaken(f)) for f in (0.5, 0.6, 0.7)),
    *(Cause(f"noise {s:.0%}", None, events.add_noise(s)) for s in (0.1, 0.3, 0.7)),
    *(Cause(f"traffic x {f}", None, events.scale_traffic(f)) for f in (0.33, 0.5, 3.0)),
    Cause("topical shift", None, events.shift_topics),
    Cause("20 % of pages gone", None, events.remove_pages),
    Cause("20 % of pages rewritten", None, events.rewrite_pages),
    Cause("two hosts introduce a paywall", None, events.wall_off),
    Cause("two hosts go offline before the crawl", None, events.end_hosts),
    Cause("8 % of pages disappear before the crawl", None, events.end_pages),
    Cause("a new template on five hosts", None, events.add_template),
    Cause("two hosts in a wrong encoding", None, events.misread_hosts),
    Cause("three hosts move", None, events.move_hosts),
    Cause("new hosts copy pages", None, events.copy_pages),
    Cause("one query accounts for 40 % of impressions", None, events.ask_one_query),
    Cause("bots", None, events.send_bots),
    Cause("longer queries", None, events.lengthen_queries),
    Cause("the search engine ranks its own page first", None, events.show_own_pages),
    Cause("answers above the results", None, events.answer_queries),
    Cause("nothing", None),
)
