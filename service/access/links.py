"""Open links: an address by which anybody becomes an assessor of a collection, and the people who used it.

Each person gets a randomly drawn name. Their identifier on another platform, and the mark by which their browser is
recognised, are in a separate table, outside the log and its exports.
"""

import re
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from threading import Lock
from time import monotonic
from urllib.parse import urlsplit

import sqlalchemy as sql
from sqlalchemy import exc

from audiosim.campaign.event import Clock, parse_time, utc_now, write_time
from audiosim.campaign.schema import TablesBeside
from audiosim.campaign.tables import OPEN_LINKS, PARTICIPANTS
from audiosim.errors import ClosedError, InputError
from audiosim.service.access.access import Recent
from audiosim.service.access.callers import NotServedError
from audiosim.service.access.tokens import LONGEST_DAYS, TIMEOUT_S, check_name, check_new_name, digest_of

# Limits on how many people join by open links, so that nobody fills a campaign with invented people.


HOUR_S = 3600.0
NEW_OF_ADDRESS = 100  # people in an hour: a class behind one address may come at once
NEW_IN_ALL = 1_000
ASKED_OF_ADDRESS = 600  # requests in an hour, including those of people who joined earlier


class JoiningLimits:
    """Counts of people who joined within an hour, by client and in all, in this process."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._asked, self._new = Recent(ASKED_OF_ADDRESS, HOUR_S), Recent(NEW_OF_ADDRESS, HOUR_S)
        self._all = Recent(NEW_IN_ALL, HOUR_S)

    def asks(self, client: str) -> int:
        """Count a request of a client; return the seconds until the client may ask again, or 0."""
        with self._lock:
            return self._asked.count(client, self._clock())

    def comes(self, client: str) -> int:
        """Count a new person from a client; return the seconds until the next may join, or 0."""
        with self._lock:
            now = self._clock()
            return self._new.count(client, now) or self._all.count("", now)


CODE_BYTES = 16
MOST_PEOPLE = 5_000
MOST_JUDGMENTS = 10_000
COMPLETION_LIMIT, ADDRESS_LIMIT = 200, 1_000
SIGNS = "abcdefghjkmnpqrstuvwxyz23456789"  # without characters that are easily confused
DRAWN = 12  # characters of a drawn name: 59 bits
PREFIX = "p-"
NAME = re.compile(rf"{PREFIX}[{SIGNS}]{{{DRAWN}}}")
REFERENCE = re.compile(r"[A-Za-z0-9._~:-]{1,100}")
PARAMETER = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
OF_PAGE = ("ask", "batch", "break", "lang", "listen")  # the judging page's own parameters


@dataclass(frozen=True, slots=True)
class OpenLink:
    """An open link, with its conditions for the people who use it.

    code        part of its address
    expires     time of expiry, after which nobody new is admitted; empty: never
    closed      time when it was closed; empty: open
    people      largest number of people
    joined      number of people who have joined
    parameter   part of the address with a person's identifier on another platform, such as PROLIFIC_PID; empty: none
    judgments   largest number of answers per person; 0: unlimited
    completion  text shown to a person who is done
    return_to   address to return to; empty: none
    screened_out  text shown instead to a person who failed the headphone check
    screened_return_to  address to return to instead; empty: none
    """

    code: str
    name: str
    collection: str
    created: str
    expires: str = ""
    closed: str = ""
    people: int = 100
    joined: int = 0
    parameter: str = ""
    judgments: int = 0
    completion: str = ""
    return_to: str = ""
    screened_out: str = ""
    screened_return_to: str = ""

    def __post_init__(self) -> None:
        check_name(self.name, "an open link")
        if not 1 <= self.people <= MOST_PEOPLE:
            raise InputError(f"people must be from 1 to {MOST_PEOPLE}, got {self.people}")
        if not 0 <= self.judgments <= MOST_JUDGMENTS:
            raise InputError(f"judgments of a person must be from 0 to {MOST_JUDGMENTS}, got {self.judgments}")
        if self.parameter and (not PARAMETER.fullmatch(self.parameter) or self.parameter in OF_PAGE):
            raise InputError(
                f"parameter: expected a letter, then up to 63 letters, digits and _ . -, and none of "
                f"{', '.join(OF_PAGE)}, got {self.parameter!r:.80}"
            )
        for field in ("completion", "screened_out"):
            said = getattr(self, field)
            if not said.isprintable() or len(said) > COMPLETION_LIMIT:
                raise InputError(f"{field}: expected up to {COMPLETION_LIMIT} printable characters, got {said!r:.80}")
        for field in ("return_to", "screened_return_to"):
            _check_address(field, getattr(self, field))


@dataclass(frozen=True, slots=True)
class Participant:
    """A person who joined by an open link.

    name       drawn at random; their judgments carry it
    code       code of the link
    reference  identifier of the person on another platform; empty: none
    created    time when they joined
    """

    name: str
    collection: str
    code: str
    reference: str
    created: str


class OpenLinkStore:
    """The open links in a database, beside the campaigns; or in a temporary file that ends with the process."""

    def __init__(self, url: str | None, clock: Clock = utc_now) -> None:
        """Open the store; its tables are created with the first link.

        url  URL of the database; None for a temporary one
        """
        self._tables, self._clock = TablesBeside(url, OPEN_LINKS, PARTICIPANTS, timeout_s=TIMEOUT_S), clock

    def create(self, asked: OpenLink, days: float | None = None) -> OpenLink:
        """A new link with the settings of another, and its own code.

        days  time until its end; None: no end
        """
        check_new_name(asked.name, "an open link")
        if days is not None and not 0 < days <= LONGEST_DAYS:
            raise InputError(f"an open link may last for more than 0 and up to {LONGEST_DAYS} days, got {days:g}")
        now = self._clock()
        expires = "" if days is None else write_time(now + timedelta(days=days))
        code = secrets.token_urlsafe(CODE_BYTES)
        made = replace(asked, code=code, created=write_time(now), expires=expires, closed="", joined=0)
        try:
            with self._tables.adding() as connection:
                connection.execute(sql.insert(OPEN_LINKS), [asdict(made)])
        except exc.IntegrityError:
            raise InputError(f"there is an open link {made.name!r} already: close it, or take another name") from None
        return made

    def links(self, collection: str) -> list[OpenLink]:
        """The open links of a collection, including ended ones, latest first."""
        wanted = sql.select(OPEN_LINKS).where(OPEN_LINKS.c.collection == collection)
        return [OpenLink(**row._mapping) for row in self._tables.read(wanted.order_by(OPEN_LINKS.c.created.desc()))]

    def close_link(self, name: str, collection: str) -> None:
        """Close a link to new people; people who have joined continue."""
        named = (OPEN_LINKS.c.name == name) & (OPEN_LINKS.c.collection == collection) & (OPEN_LINKS.c.closed == "")
        if not self._tables.change(sql.update(OPEN_LINKS).where(named).values(closed=write_time(self._clock()))):
            raise InputError(f"there is no open link {name!r:.80} to {collection}")

    def reason_closed(self, link: OpenLink) -> str:
        """Reason why a link admits nobody new; empty if it is open."""
        if link.closed:
            return "this link is closed"
        if link.expires and parse_time(link.expires) <= self._clock():
            return "this link has ended"
        return "all places are taken" if link.joined >= link.people else ""

    def known(self, collection: str, code: str, reference: str, device: str) -> tuple[OpenLink, Participant | None]:
        """The link with a code, and the person who joined by it with a reference or, without one, from this device."""
        link = self.link(collection, code)
        if link.parameter and not reference:
            raise InputError(f"the address of this link lacks your identifier: expected ?{link.parameter}=... in it")
        if reference and not (link.parameter and REFERENCE.fullmatch(reference)):
            raise InputError(
                f"{link.parameter}: expected 1 to 100 letters, digits and . _ ~ : -, got {reference!r:.120}"
                if link.parameter
                else "this link takes no identifier"
            )
        return link, next(iter(self._people(_same(code, reference, device))), None)

    def join(self, link: OpenLink, reference: str, device: str) -> Participant:
        """Admit a new person by a link.

        reference  identifier of the person; empty: none
        device     mark stored by their browser, by which it is recognised
        """
        if why := self.reason_closed(link):
            raise ClosedError(why)
        name = PREFIX + "".join(secrets.choice(SIGNS) for _ in range(DRAWN))
        row = {
            "name": name,
            "collection": link.collection,
            "code": link.code,
            "reference": reference or None,
            "device": None if reference else digest_of(device),
            "created": write_time(self._clock()),
        }
        place = sql.update(OPEN_LINKS).where(
            OPEN_LINKS.c.code == link.code, OPEN_LINKS.c.closed == "", OPEN_LINKS.c.joined < OPEN_LINKS.c.people
        )
        try:
            with self._tables.changing() as connection:
                if not connection.execute(place.values(joined=OPEN_LINKS.c.joined + 1)).rowcount:
                    raise ClosedError("all places are taken")  # by others, since the link was read
                connection.execute(sql.insert(PARTICIPANTS), [row])
        except exc.IntegrityError:  # the same person came twice at the same moment
            found = self.known(link.collection, link.code, reference, device)[1]
            assert found is not None
            return found
        return Participant(name, link.collection, link.code, reference, str(row["created"]))

    def participants(self, collection: str) -> list[Participant]:
        """The people who joined a collection by open links, in that order."""
        return self._people(PARTICIPANTS.c.collection == collection)

    def _people(self, wanted: sql.ColumnElement[bool]) -> list[Participant]:
        in_order = sql.select(PARTICIPANTS).where(wanted).order_by(PARTICIPANTS.c.created, PARTICIPANTS.c.name)
        return [
            Participant(row.name, row.collection, row.code, row.reference or "", row.created)
            for row in self._tables.read(in_order)
        ]

    def link_of(self, collection: str, assessor: str) -> OpenLink | None:
        """The link by which an assessor joined; None if they were invited."""
        if not NAME.fullmatch(assessor):
            return None
        named = (PARTICIPANTS.c.name == assessor) & (PARTICIPANTS.c.collection == collection)
        of = sql.select(OPEN_LINKS).join(PARTICIPANTS, PARTICIPANTS.c.code == OPEN_LINKS.c.code)
        return next((OpenLink(**row._mapping) for row in self._tables.read(of.where(named))), None)

    def participant(self, collection: str, assessor: str) -> Participant | None:
        """The person with a drawn name; None if nobody joined by an open link under that name."""
        if not NAME.fullmatch(assessor):
            return None
        named = (PARTICIPANTS.c.name == assessor) & (PARTICIPANTS.c.collection == collection)
        return next(iter(self._people(named)), None)

    def forget(self, collection: str, assessor: str | None = None) -> int:
        """Delete everything that identifies somebody or recognises their browser; return the number of people.

        Their answers stay in the log under the drawn name, which can no longer be traced to anybody.

        assessor  None: everybody who joined
        """
        chosen = PARTICIPANTS.c.collection == collection
        chosen = chosen if assessor is None else chosen & (PARTICIPANTS.c.name == assessor)
        return self._tables.change(sql.delete(PARTICIPANTS).where(chosen))

    def link(self, collection: str, code: str) -> OpenLink:
        """The link with a code; an error if there is none."""
        wanted = sql.select(OPEN_LINKS).where(OPEN_LINKS.c.code == code, OPEN_LINKS.c.collection == collection)
        for row in self._tables.read(wanted):
            return OpenLink(**row._mapping)
        raise NotServedError("there is no such link: it may have been cut off when it was copied")


def _same(code: str, reference: str, device: str) -> sql.ColumnElement[bool]:
    one = PARTICIPANTS.c.reference == reference if reference else PARTICIPANTS.c.device == digest_of(device)
    return (PARTICIPANTS.c.code == code) & one


def _check_address(field: str, said: str) -> None:
    """Raise an error unless a text is an address that a browser may be sent to, or empty."""
    if not said:
        return
    try:
        parts = urlsplit(said)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and said.isprintable() and " " not in said
    except ValueError:
        fits = False
    if not fits or len(said) > ADDRESS_LIMIT:
        raise InputError(f"{field}: expected an address that begins with https:// or http://, got {said!r:.80}")
