"""Measures that use only whether a document is relevant: P, AP and RR.

Lists reach down to the cutoff k at most; ranks past their end have no relevant document.
"""

import numpy as np

from audiosim.measures.definition import FORM, IDEAL, MINIMUM, REL, Definition, Elsewhere
from audiosim.measures.lists import GradedLists, of_lists, share_of
from audiosim.stats.arrays import Array


@of_lists
def _p(of: GradedLists) -> Array:
    """(...,) Precision, 0 to 1.

        1/k  sum over i <= k of  1(r_i >= l_min)      (2.2), (2.5)

    Urbano (2013), with the same definition in chapters 2, 3 and 5.
    """
    return np.asarray(of.relevant(of.grades).sum(axis=-1) / of.cutoff)


@of_lists
def _ap(of: GradedLists) -> Array:
    """(...,) Average precision, 0 to 1; 0 if no relevant document exists.

        1/best  sum over i <= k of  1(r_i >= l_min) P@i

    where best is the possible number of relevant documents: those judged relevant (2.3, 2.6), their number or k if that
    is less (5.6), or k (3.1). Urbano (2013), chapters 2, 5 and 3; Harman (1993).
    """
    relevant = of.relevant(of.grades)
    precisions = np.cumsum(relevant, axis=-1) / np.arange(1, relevant.shape[-1] + 1)
    return share_of(np.sum(relevant * precisions, axis=-1), of.most_relevant)


@of_lists
def _rr(of: GradedLists) -> Array:
    """(...,) Reciprocal rank, 0 to 1; 0 if no relevant document is retrieved down to the cutoff.

        1 / min {i <= k : r_i >= l_min}      (3.2)

    Urbano (2013); (2.4) and (2.7) are the same without a cutoff. Kantor & Voorhees (1996).
    """
    relevant = of.relevant(of.grades)
    # The first relevant rank is the one with the greatest reciprocal.
    return np.asarray(np.max(relevant / np.arange(1.0, relevant.shape[-1] + 1), axis=-1, initial=0.0))


P = Definition(
    "P",
    (MINIMUM, REL),
    _p,
    words="share of the first {cutoff} results that are relevant",
    first_words="1 if the first result is relevant, else 0",
)
AP = Definition(
    "AP",
    (MINIMUM, REL, IDEAL, FORM),
    _ap,
    words="precision at the rank of each relevant result among the first {cutoff}, averaged",
    first_words="precision at the first rank, 0 unless its result is relevant",
    elsewhere=Elsewhere(
        "divides by the number of relevant documents, or by the cutoff if that is less",
        "divides by the number of relevant documents",
        (("rel", 1.0),),
    ),
)
RR = Definition(
    "RR",
    (MINIMUM, REL),
    _rr,
    words="one divided by the rank of the first relevant result among the first {cutoff}",
    first_words="1 if the first result is relevant, else 0",
)
