"""Satisfaction from effectiveness: the share of users satisfied by a score, the number among n users, success."""

import json
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.polynomial import polynomial
from scipy.special import gammaln, xlog1py, xlogy

from audiosim import package_files
from audiosim.collection.values import Scale
from audiosim.errors import InputError
from audiosim.measures.cumulative import DCG, nDCG
from audiosim.measures.measure import FORM, IDEAL, MINIMUM, Measure, ParameterValue, as_measure, score
from audiosim.results.value import Value
from audiosim.stats.arrays import Array, Booleans
from audiosim.stats.distributions import Distribution

MOST_USERS = 10_000
ROUNDING = 1e-9  # distance outside [0, 1] within which a score counts as a rounded 0 or 1


@dataclass(frozen=True, slots=True)
class SatisfactionMapping(Value):
    """The probability that a user is satisfied with a list of some score.

        P(Sat | x) = a0 + a1 x + a2 x^2 + a3 x^3, cut to [0, 1]

    coefficients  (a0, a1, a2, a3)
    source        their source

    None of the published mappings leaves [0, 1], so the cut matters only for mappings fitted to few answers.
    Urbano (2013), equations 4.1 and 4.3.
    """

    coefficients: tuple[float, float, float, float]
    source: str

    def __post_init__(self) -> None:
        if len(self.coefficients) != 4 or not np.all(np.isfinite(self.coefficients)):
            raise InputError(f"a satisfaction mapping needs four finite coefficients, got {list(self.coefficients)}")

    def probability(self, scores: Array) -> Array:
        """P(Sat) of every score, in the shape of the scores.

        scores  scores in [0, 1]; NaN is refused
        """
        return np.clip(self.cubic(_checked("scores", scores)), 0, 1)

    def cubic(self, scores: Array) -> Array:
        """The polynomial at any scores, uncut."""
        return np.asarray(polynomial.polyval(scores, self.coefficients))


def user_form(measure: str | Measure) -> Measure:
    """User-oriented form of a measure: relative to the highest grade at each rank, not to the judged documents.

    Urbano (2013), chapter 3. A measure without an ideal already has that form.
    """
    measure = as_measure(measure)
    known, chosen = measure.definition.parameters, dict(measure.parameters)
    if "rel" in chosen:
        if MINIMUM not in known:
            return measure
        chosen = _without(chosen, "rel") | {"min": chosen["rel"]}
    kept = (_without(chosen, "form") if FORM in known else chosen) | ({"ideal": "user"} if IDEAL in known else {})
    return replace(measure, parameters=tuple(kept.items()))


def user_scores(measure: str | Measure, scale: Scale, grades: Array) -> Array:
    """(...) scores of lists in the user-oriented form, 0 to 1, which needs only the lists' own judgments.

    scale   scale of the grades
    grades  (..., n) grades at each rank, best rank first
    """
    return score(user_form(measure), scale, grades, judged=np.empty(0))


def published_mapping(measure: str | Measure, scale: str) -> SatisfactionMapping:
    """The published mapping from the user-oriented scores of a measure to P(Sat).

    measure  measure with cutoff 5, such as DCG(gain=exponential)@5, Q(ideal=user)@5 or P(min=40)@5; see `user_form`
    scale    scale of the grades: broad, fine, or one of the artificial ones made from fine grades, graded-4, graded-5,
             binary-20, binary-40, where the number is the lowest relevant grade

    On two levels CG is P, Q and GAP are AP, and both gains are equal; nDCG(ideal=user) is DCG.
    Urbano (2013), Tables 4.1 and 4.3: 40 mappings.
    """
    measure = as_measure(measure)
    if measure != user_form(measure):
        raise InputError(f"satisfaction follows from user-oriented scores: use {user_form(measure)}, not {measure}")
    published = _published()
    found = published.get(_published_key(measure, scale))
    if found is None:
        there = sorted({known for known, of in published if of == scale})
        raise InputError(
            f"there is no published mapping to satisfaction for {measure} on the {scale} scale; "
            + (f"there is one for {', '.join(there)}" if there else f"scales: {', '.join(published_scales())}")
        )
    return found


def published_scales() -> list[str]:
    """Scales with published mappings."""
    return list(dict.fromkeys(scale for _, scale in _published()))


@cache
def _published() -> dict[tuple[str, str], SatisfactionMapping]:
    text = (package_files.folder("models") / "satisfaction" / "published.json").read_text(encoding="utf-8")
    fields = json.loads(text)
    return {
        (row["measure"], row["scale"]): SatisfactionMapping(tuple(row["coefficients"]), fields["source"])
        for row in fields["mappings"]
    }


def _published_key(measure: Measure, scale: str) -> tuple[str, str]:
    """Name of a combination in the file: the equivalent one of Table 4.1."""
    definition, parameters = measure.definition, dict(measure.parameters)
    if definition == nDCG:
        definition, parameters = DCG, _without(parameters, "ideal")
    if "min" in parameters and scale == "fine":
        scale, parameters = f"binary-{parameters['min']:g}", _without(parameters, "min")
    if scale.startswith("binary-"):
        definition, parameters = definition.two_levels or definition, _without(parameters, "gain", "gain_base", "beta")
    return str(Measure(definition, measure.cutoff, tuple(parameters.items()))), scale


def _without(parameters: dict[str, ParameterValue], *names: str) -> dict[str, ParameterValue]:
    return {key: value for key, value in parameters.items() if key not in names}


def number_satisfied(probabilities: Array, users: int) -> Array:
    """(..., users + 1) probability that exactly 0, 1, ..., `users` of the users are satisfied.

        n! / (k! (n - k)!)  p^k (1 - p)^(n - k)

    probabilities  (...) P(Sat), in [0, 1]; the mean number satisfied is p times users
    users          number of independent users, at least 1

    For users of arbitrary queries, take the mean over the queries. Urbano (2013), equation 4.2.
    """
    p, k = _checked("probabilities", probabilities)[..., None], np.arange(_people(users) + 1)
    choices = gammaln(users + 1) - gammaln(k + 1) - gammaln(users - k + 1)
    return np.asarray(np.exp(choices + xlogy(k, p) + xlog1py(users - k, -p)))


def success(distribution: Distribution, mapping: SatisfactionMapping, threshold: float = 0.5) -> float:
    """Probability that a new query satisfies more than this share of the users.

        P(Succ) = 1 - F_P(Sat)(threshold) = P(mapping(X) > threshold) for a score X

    distribution  distribution of the scores, not of P(Sat), as fitted in the thesis
    threshold     share in [0, 1]; a share of exactly the threshold is no success

    The mapping may fall, so this sums the intervals of scores in which it exceeds the threshold. The probability of
    scores below 0 or above 1 counts at 0 or 1. Urbano (2013), equation 4.8.
    """
    if not 0 <= threshold <= 1:
        raise InputError(f"the threshold of success is a share of the users, from 0 to 1, got {threshold:g}")
    edges = _crossings(mapping, threshold)
    below, upto = _cumulated(distribution, edges, before=True)[1:], _cumulated(distribution, edges, before=False)[:-1]
    return float(np.sum((below - upto)[_above(mapping, threshold, edges)]))


def _above(mapping: SatisfactionMapping, threshold: float, edges: Array) -> Booleans:
    """Mask of the stretches between edges where the mapping is above a threshold."""
    inside = np.clip((edges[:-1] + edges[1:]) / 2, 0, 1)
    return np.asarray(mapping.probability(inside) > threshold)


def _crossings(mapping: SatisfactionMapping, threshold: float) -> Array:
    """The scores in [0, 1] where the cubic meets the threshold, between an edge below 0 and one above 1."""
    cubic = polynomial.polytrim(polynomial.polysub(mapping.coefficients, [threshold]))
    roots = polynomial.polyroots(cubic) if len(cubic) > 1 else np.empty(0)
    real = np.real(roots[np.abs(np.imag(roots)) < ROUNDING])
    return np.concatenate([[-1.0], np.unique(real[(real >= 0) & (real <= 1)]), [2.0]])


def _cumulated(distribution: Distribution, edges: Array, before: bool) -> Array:
    """P(X <= edge), or P(X < edge), for the edges between; 0 at the first and 1 at the last."""
    between = np.nextafter(edges[1:-1], -np.inf) if before else edges[1:-1]
    return np.concatenate([[0.0], distribution.cdf(between), [1.0]])


def _checked(what: str, values: Array) -> Array:
    values = np.asarray(values, dtype=float)
    wrong = ~((values >= -ROUNDING) & (values <= 1 + ROUNDING))
    if wrong.any():
        raise InputError(f"{what} must lie in [0, 1], got {values[wrong][0]:g}")
    return np.clip(values, 0, 1)


def _people(users: int) -> int:
    if not 1 <= users <= MOST_USERS:
        raise InputError(f"expected 1 to {MOST_USERS:,} users, got {users}")
    return users
