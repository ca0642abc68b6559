"""The wire types of shared results: the page opened by a link, and the list of links."""

from typing import Annotated, Any

from msgspec import Meta

from audiosim.service.callers.tokens import LONGEST_DAYS, NAME_LIMIT, Token
from audiosim.service.shelf.served_collection import ServedCollection
from audiosim.service.wire.base import Strict, Wire
from audiosim.service.wire.state_types import AboutOut, DifferenceOut, SystemOut


class ResultsOut(Wire):
    """Results of a collection, as shown to readers with a link: the ranking, and the progress of judging.

    The fields are those of the ranking and of the campaign; `words` names the subject of the confidence.
    """

    collection: str
    name: str
    state: int
    status: str
    measure: str
    model: str
    queries: int
    judged: int
    pool: int
    confidence: float | None
    about: AboutOut
    words: str
    stopping_rule: str
    reached: bool
    sentence: str
    fit: str
    fit_sentence: str
    top_k: int | None
    systems: list[SystemOut]
    pairs: list[DifferenceOut]

    @classmethod
    def from_domain(cls, served: ServedCollection, number: int, ranking: dict[str, Any]) -> "ResultsOut":
        """Results in one state of the campaign.

        ranking  as printed by `audiosim estimate --format json`
        """
        current, rule = served.campaign.current_state, served.judging.stopping_rule
        selection = current.selection
        same = ("measure", "model", "judged", "pool", "confidence", "sentence", "fit", "fit_sentence", "top_k")
        return cls(
            collection=served.collection.identifier,
            name=served.collection.name,
            state=number,
            status=served.campaign.progress.state,
            queries=len(selection.pool.queries),
            words=selection.ranking.about.words,
            about=AboutOut(**ranking["about"]),
            stopping_rule=str(rule),
            reached=selection.reached(rule),
            systems=[SystemOut(**row) for row in ranking["systems"]],
            pairs=[DifferenceOut(**row) for row in ranking["pairs"]],
            **{name: ranking[name] for name in same},
        )


class LinkIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Name of a new link, such as its recipient, and its validity in days; no limit if not given."""

    name: Annotated[str, Meta(min_length=1, max_length=NAME_LIMIT)]
    days: Annotated[float, Meta(gt=0, le=LONGEST_DAYS)] | None = None


class LinkOut(Wire):
    """Link to the page of results. If tokens are used, it contains one, which is never shown again."""

    name: str
    link: str
    expires: str | None


class RevocationIn(Strict, forbid_unknown_fields=True):
    """Name of the link to revoke."""

    name: Annotated[str, Meta(min_length=1, max_length=NAME_LIMIT)]


class LinkedOut(Wire):
    """A link: its date, its end (null: never), and whether it has ended."""

    name: str
    created: str
    expires: str | None
    ended: bool

    @classmethod
    def from_domain(cls, token: Token, ended: bool) -> "LinkedOut":
        return cls(token.name, token.created, token.expires or None, ended)


class LinksOut(Wire):
    """Links to the results of a collection; without `tokens`, everyone on this machine sees them."""

    tokens: bool
    links: list[LinkedOut]
