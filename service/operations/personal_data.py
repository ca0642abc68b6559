"""Personal data: everything stored about an assessor, as shown to them and to the organiser, and its deletion."""

from typing import Annotated

from fastapi import Body

from audiosim.errors import InputError
from audiosim.service.access.callers import ASSESSOR, CallerDep, DeniedError
from audiosim.service.access.links import NAME, OpenLinkStore
from audiosim.service.access.tokens import Token, TokenStore
from audiosim.service.collections.quotas import answers_given
from audiosim.service.http.exchange import NO_STORE, FreshDep, chapter
from audiosim.service.operations.judging import AssessorQuery, OpenLinksDep, named_assessor
from audiosim.service.operations.sessions import AccessDep
from audiosim.service.types.judging import RecordOut
from audiosim.service.types.people import ForgetIn, ForgottenOut, PersonalDataOut

router = chapter("judging")


@router.get("/collections/{collection}/personal-data", dependencies=[ASSESSOR, NO_STORE])
def show_personal_data(
    caller: CallerDep, access: AccessDep, links: OpenLinksDep, one: FreshDep, assessor: AssessorQuery = None
) -> PersonalDataOut:
    """Show everything that is stored about an assessor; assessors see their own data."""
    collection, name = one.collection.identifier, named_assessor(caller, one, assessor)
    called = one.called(caller.role)
    log = [
        RecordOut.from_domain(record, called)
        for record in one.campaign.log()
        if name in (record.event.assessor, record.event.judge)
    ]
    token, person = _token_of(access.tokens, collection, name), links.participant(collection, name)
    link = links.link_of(collection, name)
    return PersonalDataOut(
        collection,
        name,
        reference=None if person is None else person.reference or None,
        link=None if link is None else link.name,
        joined=None if person is None else person.created,
        invited=None if token is None else token.created,
        token_ends=None if token is None else token.expires or None,
        log=log,
    )


@router.post("/collections/{collection}/forget", dependencies=[ASSESSOR])
def forget_person(
    caller: CallerDep, access: AccessDep, links: OpenLinksDep, one: FreshDep, asked: Annotated[ForgetIn, Body()]
) -> ForgottenOut:
    """Delete a person's identity and access; their answers stay under the name that was drawn for them.

    This is for people who joined by an open link. The name of an invited person is in the log, which is never
    rewritten; `audiosim backup --without` writes a copy without it.
    """
    collection, name = one.collection.identifier, named_assessor(caller, one, asked.assessor)
    if asked.set_aside and caller.role == "assessor":
        raise DeniedError(403, "only an organiser decides that answers no longer count")
    _check_drawn(links, collection, name)
    answers = answers_given(one.campaign, name)
    if asked.set_aside and answers and name not in one.campaign.aside():
        one.campaign.set_aside(name, caller.name, "data deleted on request")
    if access.tokens is not None and _token_of(access.tokens, collection, name) is not None:
        access.tokens.revoke(name)
        access.reload()
    links.forget(collection, name)
    return ForgottenOut(name, answers, name not in one.campaign.aside())


def _check_drawn(links: OpenLinkStore, collection: str, name: str) -> None:
    if links.participant(collection, name) is None:
        known = "was deleted already, or never joined" if NAME.fullmatch(name) else "did not join by an open link"
        raise InputError(
            f"{name:.80} {known}: only people who joined by an open link can be deleted; the log keeps the name of an "
            "invited person, and audiosim backup --without writes a copy without it"
        )


def _token_of(tokens: TokenStore | None, collection: str, name: str) -> Token | None:
    held = [] if tokens is None else tokens.tokens()
    own = (one for one in held if (one.name, one.role) == (name, "assessor"))
    return next((one for one in own if one.collection in ("", collection)), None)
