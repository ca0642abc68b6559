"""Value of one person's judgment of each pair, including second opinions on pairs that others have judged.

    w_d = 1 / (Var[g_d] + v_d)  sum over pairs of systems (a, b) of  f(z_ab)^2 / V_ab (C_ad - C_bd)^2

as in `DoubtAboutDifferences`, about listeners at large, with the variance v_d that the person adds to the pair's
gain g_d; see `added_variance`.
"""

from dataclasses import dataclass

import numpy as np

from audiosim.arrays import Array, Booleans
from audiosim.expected.estimation import rank
from audiosim.relevance.judges import added_variance
from audiosim.selection.rules import DoubtAboutDifferences
from audiosim.selection.selection import Selection

NOISE_KNOWN = 0.25  # relative standard error of the noise below which it needs no further second opinions
TELLS_MORE, OF_NOISE = "tells more", "noise"


@dataclass(frozen=True, eq=False)
class OpinionValues:
    """Values of one person's judgments.

    weights      (n,) values of a judgment of each pair, including pairs that they judged themselves, which callers
                 leave out
    noise_error  relative standard error of the noise of people here
    """

    weights: Array
    noise_error: float

    @classmethod
    def of(cls, selection: Selection, name: str) -> "OpinionValues | None":
        """Values for a selection; None if its model does not distinguish people, or if nobody has judged yet."""
        belief = selection.stated_belief
        if belief.people is None or not len(belief.people.panel.place):
            return None
        panel, model = belief.people.panel, belief.people.model
        belief = belief.about("listeners")
        expected = selection.expected
        ranking = rank(expected, selection.estimator.name, expected.scores(belief), selection.judged)
        gains = expected.gains(belief)
        across = gains.across(expected.slopes(belief))
        added = added_variance(model, panel, name)
        weights = DoubtAboutDifferences(expected).of(across, np.asarray(gains.variance + added), ranking)
        return cls(weights, model.noise_error)

    def second_opinion(self, shared: Booleans, fresh: Booleans) -> tuple[int, str] | None:
        """The pair judged by others that most needs a second opinion, and the reason; None if no pair is worth one.

        shared  (n,) True for pairs judged by others, but not by this person
        fresh   (n,) True for pairs that nobody judged and this person could judge
        """
        places = np.flatnonzero(shared)
        if not len(places):
            return None
        best = int(places[np.argmax(self.weights[places])])
        most = float(self.weights[fresh].max(initial=0.0))
        if self.weights[best] > most:
            return best, TELLS_MORE
        return (best, OF_NOISE) if self.noise_error > NOISE_KNOWN else None
