"""Tokens, which give their holders access to a service, with their history.

Only the SHA-256 of a token is stored. A slow hash would add nothing: it protects passwords, which can be guessed; a
token has 256 random bits, which cannot be guessed however fast the hash is.
"""

import hashlib
import secrets
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar
from weakref import finalize

import sqlalchemy as sql
from sqlalchemy import exc

from audiosim.campaign.engine import in_memory, open_engine, open_existing, reporting
from audiosim.campaign.event import Clock, parse_time, utc_now, write_time
from audiosim.campaign.schema import TablesBeside, layout_in, prepare_tables
from audiosim.campaign.tables import RESULT_LINKS, TABLES, TOKENS, TOKENS_HISTORY
from audiosim.errors import ArgumentError, InputError
from audiosim.results.value import Result, Row, Rows
from audiosim.text import counted

ROLES = ("assessor", "organiser", "client")
READER = "reader"  # role of an organiser's link to one collection's results
TIMEOUT_S = 10.0
PREFIX = "audiosim_"  # recognisable for programs that scan files for secrets
RANDOM_BYTES = 32
NAME_LIMIT = 200
LONGEST_DAYS = 36_500


def check_name(name: str, what: str, longest: int = NAME_LIMIT) -> None:
    """Raise an error unless a name consists of 1 to `longest` printable characters."""
    if not name.strip() or not name.isprintable() or len(name) > longest:
        raise InputError(f"{what} needs a name of 1 to {longest} printable characters, got {name!r:.80}")


def check_new_name(name: str, what: str, longest: int = NAME_LIMIT) -> None:
    """Raise an error for a name that `check_name` refuses, or with spaces at its ends, which tables do not keep."""
    check_name(name, what, longest)
    if name != name.strip():
        raise InputError(f"{what} needs a name without spaces at its ends, got {name!r:.80}")


@dataclass(frozen=True, slots=True)
class Token:
    """Holder and rights of a token.

    name        of the holder; an assessor judges under it
    role        in ROLES, or READER for a link
    collection  the only one covered; empty: all
    created     time of creation; ISO 8601, UTC
    expires     time of expiry; empty: never
    digest      SHA-256 of the token, hexadecimal
    """

    name: str
    role: str
    collection: str
    created: str
    expires: str
    digest: str

    def __post_init__(self) -> None:
        check_name(self.name, "a token")
        if self.role not in (*ROLES, READER):
            raise InputError(f"unknown role {self.role!r}, expected {', '.join(ROLES)}")

    def valid(self, now: datetime) -> bool:
        """True if it has not expired."""
        return not self.expires or parse_time(self.expires) > now


def digest_of(secret: str) -> str:
    """Stored digest of a token."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


class TokenStore:
    """The tokens in a database, such as sqlite:///campaign.db, beside the campaigns."""

    def __init__(
        self, url: str, clock: Clock = utc_now, *, existing: bool = False, upgrade: bool = False, reading: bool = False
    ) -> None:
        """Open the tokens of a database.

        existing  True if the database must exist already
        upgrade   True to migrate its tables, which stops older servers; tokens need only their own table
        reading   True to change nothing
        """
        self._clock = clock
        self._engine = (open_existing if existing or reading else open_engine)(url, TIMEOUT_S, reading)
        finalize(self, self._engine.dispose)
        with reporting(self._engine):
            if not reading and (upgrade or not layout_in(self._engine)):
                prepare_tables(self._engine)
            if not reading:  # layouts 1 and 2 had no tokens
                TABLES.create_all(self._engine, [TOKENS, TOKENS_HISTORY])
            self._there = sql.inspect(self._engine).has_table(TOKENS.name)
        self._links = TablesBeside(url, RESULT_LINKS, timeout_s=TIMEOUT_S)

    def create(self, name: str, role: str, collection: str = "", days: float | None = None) -> str:
        """Create a token, and return it; it cannot be shown again.

        days  validity; None: for ever
        """
        if role not in ROLES:
            raise ArgumentError("role", f"unknown role {role!r}, expected {', '.join(ROLES)}")
        token, secret = self._made(name, role, collection, days)
        try:
            with reporting(self._engine), self._engine.begin() as connection:
                connection.execute(sql.insert(TOKENS), [asdict(token)])
                self._note(connection, "create", name)
        except exc.IntegrityError:
            raise InputError(f"there is a token of {name} already; withdraw it first, or take another name") from None
        return secret

    def renew(self, name: str, collection: str, days: float | None = None) -> str:
        """New token of an assessor of one collection, replacing any previous one.

        days  as for `create`
        """
        token, secret = self._made(name, "assessor", collection, days)
        held = (TOKENS.c.name == name) & (TOKENS.c.collection == collection) & (TOKENS.c.role == token.role)
        with reporting(self._engine), self._engine.begin() as connection:
            connection.execute(sql.delete(TOKENS).where(held))
            connection.execute(sql.insert(TOKENS), [asdict(token)])
            self._note(connection, "create", name)
        return secret

    def share(self, name: str, collection: str, days: float | None = None) -> str:
        """Token of a new link to the results of one collection, which gives access to nothing else.

        name  name of the link, such as its recipient
        days  as for `create`
        """
        link, secret = self._made(name, READER, collection, days)
        row = {column.name: getattr(link, column.name) for column in RESULT_LINKS.columns}
        try:
            with self._links.adding() as connection:
                connection.execute(sql.insert(RESULT_LINKS), [row])
        except exc.IntegrityError:
            raise InputError(f"there is a link for {name} already; revoke it first, or take another name") from None
        return secret

    def unshare(self, name: str, collection: str) -> None:
        """Expire a link now."""
        held = (RESULT_LINKS.c.name == name) & (RESULT_LINKS.c.collection == collection)
        if not self._links.change(sql.delete(RESULT_LINKS).where(held)):
            raise InputError(f"there is no link for {name!r} to the results of {collection}")

    def links(self) -> list[Token]:
        """All links to results, by name, including expired ones."""
        found = self._links.read(sql.select(RESULT_LINKS).order_by(RESULT_LINKS.c.name))
        return [Token(role=READER, **row._mapping) for row in found]

    def _made(self, name: str, role: str, collection: str, days: float | None) -> tuple[Token, str]:
        check_new_name(name, "a token")
        now = self._clock()
        if days is not None and not 0 < days <= LONGEST_DAYS:
            raise InputError(f"a token may last for more than 0 and up to {LONGEST_DAYS} days, got {days:g}")
        expires = "" if days is None else write_time(now + timedelta(days=days))
        secret = PREFIX + secrets.token_urlsafe(RANDOM_BYTES)
        return Token(name, role, collection, write_time(now), expires, digest_of(secret)), secret

    def revoke(self, name: str) -> None:
        """Expire a token now."""
        with reporting(self._engine), self._engine.begin() as connection:
            gone = connection.execute(sql.delete(TOKENS).where(TOKENS.c.name == name))
            if gone.rowcount:
                self._note(connection, "revoke", name)
        if not gone.rowcount:
            raise InputError(f"there is no token of {name!r}")

    def tokens(self) -> list[Token]:
        """All tokens, by name, including expired ones."""
        if not self._there:
            return []
        with reporting(self._engine), self._engine.connect() as connection:
            rows = connection.execute(sql.select(*TOKENS.c).order_by(TOKENS.c.name)).all()
        return [Token(**row._mapping) for row in rows]

    def was_used(self) -> bool:
        """True if a token was ever created: services on this database then require tokens."""
        with reporting(self._engine), self._engine.connect() as connection:
            return any(
                connection.execute(sql.select(sql.exists().select_from(one))).scalar()
                for one in (TOKENS, TOKENS_HISTORY)
            )

    def close(self) -> None:
        """Close the database."""
        self._engine.dispose()
        self._links.close()

    def _note(self, connection: sql.Connection, kind: str, name: str) -> None:
        connection.execute(sql.insert(TOKENS_HISTORY).values(time=write_time(self._clock()), kind=kind, name=name))


@dataclass(frozen=True)
class NewToken(Result):
    """A new token, which is shown only now.

    name        of its holder
    role        in ROLES
    collection  the only one covered; None: all
    token       the token
    """

    name: str
    role: str
    collection: str | None
    token: str = field(repr=False)


@dataclass(frozen=True)
class Tokens(Rows):
    """The holders of the tokens of a database; a collection of None covers all, and a time of None is never."""

    _index: ClassVar = ("name",)
    _columns: ClassVar = ("name", "role", "collection", "created", "expires")

    tokens: tuple[Token, ...]

    def __repr__(self) -> str:
        return counted(len(self.tokens), "token") if self.tokens else "there are no tokens"

    def rows(self) -> list[Row]:
        """One row per token: holder, role, collection, times of creation and expiry."""
        return [{name: getattr(token, name) or None for name in self._columns} for token in self.tokens]


@dataclass(frozen=True)
class Revoked(Result):
    """A token that was revoked.

    name     of its holder
    revoked  True
    """

    name: str
    revoked: bool = True

    def __repr__(self) -> str:
        return f"the token of {self.name} is revoked"


def create(db: str, role: str, name: str, collection: str = "", expires: float | None = None) -> NewToken:
    """Create a token and print it; it is shown only now, as only its hash is stored.

    Example: `audiosim token create --role assessor --name ann --db sqlite:///demo/campaign.db --expires 30`

    db          address of the database
    role        assessor: judges, and sees no ranking; client: predictions and rankings; organiser: everything
    name        owner of the token; judgments of an assessor carry this name
    collection  limit access to this collection. Default: all
    expires     days until it expires. Default: never
    """
    if in_memory(db):
        raise InputError(f"--db {db} is in memory, so the token would be lost at once: expected a file, or PostgreSQL")
    return NewToken(name, role, collection or None, TokenStore(db).create(name, role, collection, expires))


def list_tokens(db: str) -> Tokens:
    """List the owners of all tokens and when each expires; the tokens themselves are not stored.

    Example: `audiosim token list --db sqlite:///demo/campaign.db`
    """
    return Tokens(tuple(TokenStore(db, reading=True).tokens()))


def revoke(db: str, name: str) -> Revoked:
    """Withdraw a token; a running service notices within seconds.

    Example: `audiosim token revoke ann --db sqlite:///demo/campaign.db`

    db    address of the database
    name  name of its owner
    """
    TokenStore(db, existing=True).revoke(name)
    return Revoked(name)
