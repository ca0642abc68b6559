"""Several aspects of each pair, each judged on a scale of its own: rankings by one of them, or by their mean.

A file of judgments has them in a column `aspect`. If assessors judge all aspects on one page, other aspects give no
information on an unjudged pair, which has none. If they judged different pairs, the grades of one aspect are evidence
about another: a covariate of its grades with a learned slope, like the grades of a judging machine.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain

from audiosim.collection.evidence import MachineJudge
from audiosim.collection.values import Judgment, JudgmentSequence, Scale, have_aspects, mean_grades
from audiosim.errors import ArgumentError, InputError
from audiosim.results.value import cached_property
from audiosim.text import choices

MEAN = "mean"
MOST_LEVELS = 10_000
EXACT = 9  # decimals to which a mean is rounded


class Aspects(tuple[Judgment, ...]):
    """Judgments of several aspects, seen by one of them or by their mean: a tuple of that one's judgments.

    scale   scale of each aspect's grades
    parts   judgments by aspect, in the order in which they were made
    aspect  the aspect by which they are seen, or "mean"
    """

    scale: Scale
    parts: Mapping[str, tuple[Judgment, ...]]
    aspect: str

    def __new__(cls, scale: Scale, parts: Mapping[str, tuple[Judgment, ...]], aspect: str = MEAN) -> "Aspects":
        """The judgments of one aspect, or the means of assessors who judged all aspects of a pair."""
        known = (*parts, MEAN)
        if aspect not in known:
            raise ArgumentError("aspect", f"unknown aspect {aspect!r:.80}, expected {choices(aspect, known)}")
        found = super().__new__(cls, _means(scale, parts) if aspect == MEAN else parts[aspect])
        found.scale, found.parts, found.aspect = scale, parts, aspect
        return found

    @classmethod
    def of(
        cls, scale: Scale, judgments: Iterable[Judgment], names: Sequence[str] = (), aspect: str = MEAN
    ) -> "Aspects":
        """The judgments of a collection, divided by aspect.

        names  names of the aspects; none: those of the judgments
        """
        parted: dict[str, list[Judgment]] = {name: [] for name in names}
        for one in judgments:
            if names and one.aspect not in parted:
                raise InputError(
                    f"expected an aspect of {', '.join(names)}, as in task.toml, for document {one.document} "
                    f"of query {one.query}, got {one.aspect or 'none'}"
                )
            parted.setdefault(one.aspect, []).append(one)
        return cls(scale, {name: tuple(some) for name, some in parted.items()}, aspect)

    def __getnewargs__(self) -> tuple[object, ...]:
        return self.scale, self.parts, self.aspect

    @property
    def names(self) -> tuple[str, ...]:
        """The aspects."""
        return tuple(self.parts)

    @property
    def every(self) -> tuple[Judgment, ...]:
        """The judgments of all aspects, one aspect after another."""
        return tuple(chain.from_iterable(self.parts.values()))

    @property
    def seen_on(self) -> Scale:
        """The scale of the grades that are seen: of an aspect, or of their mean."""
        return mean_scale(self.scale, len(self.parts)) if self.aspect == MEAN else self.scale

    def by(self, aspect: str) -> "Aspects":
        """The same judgments, seen by another aspect."""
        return Aspects(self.scale, self.parts, aspect)

    @cached_property
    def evidence(self) -> tuple[MachineJudge, ...]:
        """The grades of other aspects as evidence about this one; none if they cover no further pairs."""
        own = {one.pair for one in self}
        others = {name: mean_grades(some) for name, some in self.parts.items() if name != self.aspect}
        telling = {name: grades for name, grades in others.items() if not own.issuperset(grades)}
        return tuple(MachineJudge.of(evidence_name(name), grades) for name, grades in telling.items())


def parted(
    scale: Scale, judgments: JudgmentSequence, names: Sequence[str] = (), aspect: str = MEAN
) -> tuple[Scale, JudgmentSequence]:
    """The judgments, by aspect if they have any or if `names` are expected, and the scale on which they are seen."""
    if not names and not (judgments and have_aspects(judgments)):
        return scale, judgments
    found = Aspects.of(scale, judgments, names, aspect)
    return found.seen_on, found


def _means(scale: Scale, parts: Mapping[str, Sequence[Judgment]]) -> Iterator[Judgment]:
    held = [{(one.pair, one.assessor): one for one in some} for some in parts.values()]
    for key in held[0]:
        if all(key in some for some in held):
            (pair, assessor), said = key, [some[key] for some in held]
            yield Judgment(*pair, mean_of([one.grade for one in said], scale), assessor, max(one.time for one in said))


def evidence_name(aspect: str) -> str:
    """The name of the evidence that an aspect may become."""
    return f"aspect-{aspect}"


def mean_of(grades: Sequence[float], scale: Scale) -> float:
    """The mean of a pair's grades in all aspects, as the nearest level of `mean_scale`."""
    mean, levels = sum(grades) / len(grades), mean_scale(scale, len(grades)).levels
    place = bisect_left(levels, mean)
    # Sums of levels such as 1/7 are rounded, so that a level may lie slightly on either side of the mean.
    return min(levels[max(0, place - 1) : place + 1], key=lambda level: abs(level - mean))


@lru_cache(maxsize=16)
def mean_scale(scale: Scale, count: int) -> Scale:
    """The scale of the means of a number of grades: all possible values of the mean."""
    if count < 2:
        return scale
    *_, sums = accumulate(range(count), lambda some, _: _sums(some, scale), initial=frozenset([0.0]))
    if len(sums) > MOST_LEVELS:
        raise InputError(f"the mean of {count} aspects has {len(sums):,} levels, expected up to {MOST_LEVELS:,}")
    return Scale("custom", tuple(sorted({round(one / count, EXACT) for one in sums})))


def _sums(some: frozenset[float], scale: Scale) -> frozenset[float]:
    found = frozenset(round(one + level, EXACT) for one in some for level in scale.levels)
    if len(found) > MOST_LEVELS * 10:
        raise InputError(f"the levels {scale} have too many different sums for the mean of several aspects")
    return found
