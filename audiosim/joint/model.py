"""Joint estimator: correlated grades by an ordinal model and a multivariate normal of the deviations from it.

    grade_i = mu_i + s_i (c + a z_i + b x_i + d r_i + sum of effects of the pair i)

The effects are normal, with the model's variances. mu_i is the expectation of the ordinal model, which reads no
judgments, and s_i its standard deviation, at least FLOOR of the mean over all pairs. Effects shared between pairs
correlate their grades; see `layout_of`. The trend, c + a z + b x + d r, is needed because systems differ more than the
features of single documents show, and because documents found by many teams are better; see `consensus`. Its covariance
gives its uncertainty. All of these are conditioned on the judgments, exactly.

A model knows the collection it was trained on, and partly its kin; see `kinship`. Any other collection is a draw from a
distribution of collections, see `Between`: there the uncertainty of trend and variances equals their variation between
collections. If no document has metadata, the mean is uncertain too and is that of the scale.

Sound and the user's own evidence are handled the same way everywhere: each piece moves the mean by a slope that has a
prior, and documents similar in it share an effect; see `evidence_effects`.
"""

from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from audiosim.collection.pool import Pool
from audiosim.collection.values import PairedComparison
from audiosim.joint.comparisons import NOISE, OPINION, TIE, Compared, ComparedGains, ComparisonModel, Unsure
from audiosim.joint.fit import (
    COVARIATES,
    HELD,
    SMALL,
    JudgeDeviations,
    learn_comparison_deviations,
    panel_model,
    true_of_pairs,
    usual_comparison_deviations,
)
from audiosim.joint.levels import Levels
from audiosim.joint.moments import comparisons_learned
from audiosim.joint.people import (
    MOST,
    TASTE,
    Disagreement,
    JudgedRows,
    JudgeReport,
    Panel,
    PanelModel,
    PanelModels,
    People,
    disagreements,
    judge_reports,
    most_telling,
    with_judges,
)
from audiosim.joint.posterior import Belief
from audiosim.joint.prior import Prior, Uncertainty, carried_to, components_of, knows_documents, unknown_documents
from audiosim.joint.terms import EvidenceEffects, EvidenceKind
from audiosim.ordinal.model import SOUND, Model, usual_model
from audiosim.stats.arrays import Array, Integers
from audiosim.stats.normal.block_normal import BlockNormal
from audiosim.stats.normal.layout import REST, Layout
from audiosim.stats.normal.roots import symmetric_root
from audiosim.stats.threads import one_thread


class JointEstimator:
    """A joint model for one pool; it never changes, so threads may share it."""

    def __init__(self, pool: Pool, models: tuple[Model, ...], kinds: Collection[EvidenceKind] | None = None) -> None:
        """An estimator for one pool.

        models  models in order of preference, as for `OrdinalEstimator`; the first has components
        kinds   kinds of evidence that it uses; None for all known ones
        """
        model = models[0]
        components = components_of(model)[1]
        self._model, self._models, self._pool = model, models, pool
        self._taught: Array | None = None
        self._panel: Panel | None = None
        self._panel_models, self._panel_models_in_reserve = PanelModels(), PanelModels()
        self._near: PanelModel | None = None
        self._reserve: JointEstimator | None = None
        # None is this estimator: a reference to itself would keep it, and its arrays, until the collector runs.
        self._first: JointEstimator | None = None
        self._unheard: JointEstimator | None = None  # copies that know the judges share one reserve
        carried = carried_to(pool, model)
        sound = SOUND in components and (carried == 1 or pool.sounds is not None)
        if model.between is None or carried > 0:
            self._prior = Prior.of(pool, models, sound)
            self._held = Uncertainty.at_home(self._prior, model, carried)
        else:
            known = knows_documents(model, pool)
            # Its mean is the usual one, yet this model predicts the pairs: it moves them by query, system and document.
            usual = replace(usual_model(pool.scale), name=model.name)
            self._prior = Prior.of(pool, models if known else (usual,), sound, known)
            self._held = Uncertainty.elsewhere(self._prior, model, model.between)
        effects = EvidenceEffects.of(pool, self._prior.layout, kinds)
        if effects.names:
            self._held = self._held.with_evidence(effects, self._prior.layout)
            self._prior = replace(self._prior, layout=effects.onto(self._prior.layout))
        self._spoken = effects.spoken(self._prior.ordinal)
        self._brought = effects.names
        self._comparisons, self._compared = pool.comparisons, Compared.of(pool, pool.comparisons)
        self._alone = self._held  # deviations before learning from comparisons
        self._comparison_deviations: dict[str, float] = {}
        self._learn_from_comparisons()
        self._begin(self._held.standard_deviations(self._held.centre, self._held.spread))

    def _learn_from_comparisons(self) -> None:
        """Learn the deviations of components and comparisons at the last moment; before the first, reset them."""
        compared = Compared.of(self._pool, self._comparisons[: comparisons_learned(self._comparisons)])
        if not len(compared):
            self._held, self._comparison_deviations = self._alone, {}
            return
        layout, held = self._with_trend(), self._alone
        own, unsure = usual_comparison_deviations(layout)
        pair, pair_unsure = true_of_pairs(held)
        usual = {**held.centre, REST: pair}
        centre = {name: max(size, SMALL) for name, size in usual.items()} | own | {COVARIATES: 1.0}
        spread = {**held.spread, REST: pair_unsure, **unsure}
        with one_thread():
            learned = learn_comparison_deviations(layout, held.mean, self._parts_of_pairs(), compared, centre, spread)
        found, left = ({name: of[name] for name in held.centre} for of in (learned.found, learned.spread))
        # Noise and ties change no covariance; people's habits in them are averaged over the unknown ones.
        people = {name: learned.found[name] for name in own}
        doubtful = {name: people[name] for name in (TASTE, OPINION)}
        self._comparison_deviations = people | held.standard_deviations(doubtful, learned.spread)
        self._held = replace(held, centre=found, spread=left, compared=True)

    def _answers(self, gains: BlockNormal) -> ComparedGains | None:
        """The comparisons of pairs with this prior of the gains, or None."""
        compared = self._compared
        if not len(compared):
            return None
        return ComparedGains(self.comparison_model(compared), gains)

    @property
    def comparisons(self) -> tuple[PairedComparison, ...]:
        """The comparisons known to the estimator."""
        return self._comparisons

    def comparison_model(self, compared: Compared) -> ComparisonModel:
        """Model of comparisons that people are asked for, with deviations as last learned, or the usual ones."""
        usual, unsure = usual_comparison_deviations(self._prior.layout)
        deviations = self._comparison_deviations or usual
        noise, tie = ((float(np.log(usual[name] / deviations[name])), unsure[name]) for name in (NOISE, TIE))
        parts, scale = self._parts_of_pairs(), self._prior.layout.scale
        return ComparisonModel.of(compared, parts, scale, deviations, Unsure(noise, tie))

    def comparing(self, comparisons: tuple[PairedComparison, ...], learn: bool = False) -> "JointEstimator":
        """The estimator with these comparisons, and no others.

        learn  True to learn deviations from them, at their last moment of learning; False to keep those learned before
        """
        if comparisons == self._comparisons:
            return self
        other = self._copied()
        other._comparisons, other._compared = comparisons, Compared.of(self._pool, comparisons)
        other._reserve = None
        if self._reserve is not None:
            other._reserve = self._reserve.comparing(comparisons, learn)
        deviations = self.standard_deviations
        if learn:
            other._learn_from_comparisons()
            other._panel_models, other._panel_models_in_reserve = PanelModels(), PanelModels()
            deviations = other._held.standard_deviations(other._held.centre, other._held.spread)
        other._begin(deviations)
        if not learn:
            other._start = other._start.using(self._start.use)
        return other

    def _begin(self, standard_deviations: Mapping[str, float]) -> None:
        self.standard_deviations = standard_deviations
        gains = self._prior.layout.normal(standard_deviations, self._held.mean, self._held.covariance)
        words, spoke = self._spoken
        # The variation between collections of level, trend and variances does not widen the levels. It is measured on
        # retrieved pairs only, so that further requested pairs do not change the predictions of these.
        wider = (np.sqrt(gains.variance) / self._prior.layout.scale)[self._pool.found].mean()
        width = min(1.0, 1 / float(wider)) if self._held.away else 1.0
        self._start = replace(
            self._prior.ordinal,
            prior=gains,
            evidence=words,
            spoke=spoke,
            use=Levels(width=width),
            answers=self._answers(gains),
        )

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def version(self) -> str:
        return self._model.version

    def predict(self, grades: Array) -> Belief:
        belief = self._start.revise(grades)
        if self._panel is None or not self._panel.is_of(grades):
            return belief
        return belief.heard(People(self._panel, self._panel_models, self.panel_model))

    def hearing(self, panel: Panel) -> "JointEstimator":
        """The estimator with the judges of its judgments, for requests about the grades of these people."""
        other = self._copied()
        other._unheard = self._unheard or self
        other._panel = panel
        return other

    def relearned(self, grades: Array) -> "JointEstimator":
        """The estimator with components estimated from these judgments and the model together; see `relearning`.

        grades  (n,) NaN where unjudged

        The prior of the standard deviations is log-normal. The trend itself needs no learning: it is among the effects
        that are conditioned.
        """
        with one_thread():
            return self._relearned(grades)

    def _relearned(self, grades: Array) -> "JointEstimator":
        places = np.flatnonzero(~np.isnan(grades))
        other = self._having(grades, self.learned_deviations(places, grades[places] / self._start.maximum))
        shaped = other._start.revise(grades).shaped()
        other._start = other._start.using(shaped.use)
        return other

    def learned_deviations(self, places: Integers, gains: Array) -> dict[str, float]:
        """Standard deviations for predictions, by name, estimated from these gains and the model together.

        places  (k,) places of the judged pairs
        gains   (k,) gains as shares of the highest
        """
        from audiosim.stats.normal.variance_components import estimate_components

        held, layout = self._held, self._with_trend().part(places)
        centre = {name: max(size, SMALL) for name, size in held.centre.items()} | {COVARIATES: 1.0}
        spread = {**held.spread, COVARIATES: HELD}
        found = estimate_components([layout], [gains - held.mean[places]], centre, spread)
        left = {name: min(spread[name], found.errors[name] / found.standard_deviations[name]) for name in held.centre}
        return held.standard_deviations({name: found.standard_deviations[name] for name in held.centre}, left)

    def panel_model(self, panel: Panel, deviations: JudgeDeviations | None = None) -> PanelModel:
        """Model of the pool's gains and of the people who judge them, with deviations learned from their judgments.

        deviations  prior of people's deviations; None for the usual one
        """
        parts = self._parts_of_pairs()
        with one_thread():
            return panel_model(self._prior.layout, self._with_trend(), self._held, parts, panel, deviations, self._near)

    def kept_model(self, panel: Panel) -> PanelModel:
        """Model of the judgments of a panel up to the last moment of learning, learned unless it is kept."""
        return self._panel_models.of(panel, self.panel_model)

    def near(self, near: PanelModel) -> "JointEstimator":
        """The same estimator, which fits the models of panels in fewer steps, from that of a similar panel."""
        other = self._copied()
        other._near = near
        return other

    @property
    def prior(self) -> Prior:
        """Prior of the pairs before any judgment, except for the standard deviations."""
        return self._prior

    @property
    def uncertainty(self) -> Uncertainty:
        """Prior uncertainty about trend and standard deviations."""
        return self._held

    def _copied(self) -> "JointEstimator":
        other = copy(self)
        other._first, other._unheard = self._first or self, None
        return other

    def _having(self, grades: Array, standard_deviations: Mapping[str, float]) -> "JointEstimator":
        other = self._copied()
        other._taught, other._reserve = grades, None
        other._begin(standard_deviations)
        return other

    @property
    def basis(self) -> object:
        """Everything except the grades that learning depends on."""
        return self._prior, self._held, self._pool.found

    @property
    def learned(self) -> dict[str, Any]:
        """Standard deviations and levels as last learned."""
        found = {"standard_deviations": dict(self.standard_deviations), **self._start.use.to_dict()}
        if self._held is self._alone:
            return found
        held = {"centre": dict(self._held.centre), "spread": dict(self._held.spread)}
        return found | {"comparisons": {**held, "own": dict(self._comparison_deviations)}}

    def resumed(self, grades: Array, learned: Mapping[str, Any]) -> "JointEstimator":
        """The estimator restored to a state that it learned from these judgments (n,), NaN where unjudged."""
        before, compared = self, learned.get("comparisons")
        if compared is not None:
            before = self._copied()
            before._comparison_deviations = compared["own"]
            before._held = replace(self._alone, centre=compared["centre"], spread=compared["spread"], compared=True)
        other = before._having(grades, learned["standard_deviations"])
        other._start = other._start.using(other._start.use.resumed(learned))
        return other

    def unlearned(self) -> "JointEstimator":
        """The estimator before any judgment."""
        return self._first or self

    def in_reserve(self) -> "JointEstimator | None":
        """Estimator to use if this one fails its check: without metadata, and for an average collection.

        It has learned from the same judgments. None if the model has no distribution of collections, or if this
        estimator is already the replacement.
        """
        between = self._model.between
        bare = not self._brought and self._pool is unknown_documents(self._pool)
        if between is None or (self._held.away and bare):
            return None
        reserve = (self._unheard or self)._kept_reserve()
        return reserve if self._panel is None else reserve.hearing(self._panel)

    def _kept_reserve(self) -> "JointEstimator":
        """The reserve, trained once: learning takes a hundred times as long as predicting."""
        if self._reserve is None:
            models = (replace(self._model, training=None), *self._models[1:])
            made = JointEstimator(unknown_documents(self._pool), models, kinds=())
            if self._comparisons != made._comparisons:
                made = made.comparing(self._comparisons, learn=True)
            else:  # models of panels do not depend on what a reserve has learned: the next reserve finds them again
                made._panel_models = self._panel_models_in_reserve
            self._reserve = made if self._taught is None else made.relearned(self._taught)
        return self._reserve

    def following(self, learned: object) -> "JointEstimator | None":
        """The estimator with components and levels learned by an estimator of another pool of the collection.

        None if the other estimator has different components.
        """
        if (
            not isinstance(learned, JointEstimator)
            or learned.standard_deviations.keys() != self.standard_deviations.keys()
        ):
            return None
        other = self._copied()
        other._begin(learned.standard_deviations)
        other._start = other._start.using(other._start.use.as_in(learned._start.use))
        return other

    def judged_rows(self, panel: Panel) -> JudgedRows:
        """Judgments of a panel with their covariance, with the components learned from them."""
        model, parts = self.panel_model(panel), self._parts_of_pairs()
        unit = float(np.sqrt(np.mean(model.layout.scale**2)))
        rows = with_judges(self._with_trend(), parts, panel)
        deviations = {**model.likeliest, COVARIATES: 1.0}
        return JudgedRows(rows, deviations, panel, panel.gain - self._held.mean[panel.place], unit, parts)

    def judge_reports(self, panel: Panel) -> list[JudgeReport]:
        """Reports on the judges, by the first judgments of a panel; see `judge_reports.MOST`."""
        with one_thread():
            return judge_reports(self.judged_rows(panel.first(MOST)), self._pool.systems)

    def disagreements(self, panel: Panel, count: int | None = None) -> list[Disagreement]:
        """Pairs with the greatest disagreement between people, by at most MOST judgments; see `disagreements`."""
        with one_thread():
            return disagreements(self.judged_rows(most_telling(panel, MOST)), self._pool.pairs, count)

    def _parts_of_pairs(self) -> Array:
        """(n, s) share of each pair that belongs to the results of each system."""
        parts = np.asarray(self._pool.retrieved.T.toarray(), dtype=np.float64)
        return np.asarray(parts / np.maximum(1, parts.sum(axis=1, keepdims=True)))

    def _with_trend(self) -> Layout:
        """The layout with the trend as effects of unit size: its columns times a root of their covariance."""
        layout = self._prior.layout
        columns = layout.fixed @ symmetric_root(self._held.covariance) / layout.scale[:, None]
        return replace(layout, trend=None, shared={**layout.shared, COVARIATES: columns})
