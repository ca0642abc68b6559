"""Predictions of held-out rows, by fits without any judgment of their queries."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import compress
from typing import NamedTuple

import numpy as np

from audiosim.errors import InputError, placed
from audiosim.ordinal.features import design
from audiosim.stats.arrays import Array, Booleans, Integers
from audiosim.stats.ordinal import OrdinalFit, thresholds_of
from audiosim.training.examples import Examples, Fold, Judged, Sample, Way
from audiosim.training.fit import fit_sample, identifiable
from audiosim.training.scores import Forecast, forecast


class View(NamedTuple):
    """Rows to predict while their queries are held out, and the judgments visible meanwhile.

    label  label in the report
    rows   (n,) True for rows to predict; rows with levels missing from the fits are left out
    drawn  (n,) rows with visible judgments; None: for each row, all judgments but its own
    """

    label: str
    rows: Booleans
    drawn: Booleans | None = None


class HeldOutPrediction(NamedTuple):
    """Predictions for the rows of a view.

    sample      the rows, without features
    model       predictions by the fits
    matched     predictions by fits to rows with equally few judgments of their own query; None if all is judged, or
                if there is no such fit
    historical  the shares of the levels in the rows of the fits
    fewer       number of rows that lack a feature: predicted by a fit of the known terms
    """

    sample: Sample
    model: Forecast
    matched: Forecast | None
    historical: Forecast
    fewer: int


class _Said(NamedTuple):
    """Predictions for the rows of a view in one fold; see `HeldOutPrediction`.

    trouble  reason for a missing matched fit
    """

    rows: Integers
    model: Forecast
    matched: Forecast | None
    historical: Forecast
    fewer: int
    trouble: str | None


class _Fitted(NamedTuple):
    """A fit without some fold, its terms, and the shares of the levels in its rows.

    fit      None without terms: the shares are then the prediction
    reasons  a sentence for each term that these rows cannot determine
    """

    terms: tuple[str, ...]
    fit: OrdinalFit | None
    shares: Array
    reasons: tuple[str, ...]


class _Fits:
    """The fits of a model's terms, and of subsets of them, to the rows outside a fold, each computed once."""

    def __init__(self, examples: Examples, fold: Fold, terms: tuple[str, ...], levels: Array) -> None:
        self.terms = terms
        self._rest, self._name, self._levels = replace(examples, table=fold.fitted).of(~fold.held), fold.name, levels
        self._made: dict[tuple[str, ...], _Fitted] = {}

    def of(self, terms: tuple[str, ...]) -> _Fitted:
        """The fit of some of the terms."""
        if terms not in self._made:
            self._made[terms] = self._fitted(terms)
        return self._made[terms]

    def predict(self, held: Examples) -> Forecast:
        """Predictions for some rows, each by the fit of its known terms."""
        known = np.logical_not(np.isnan(design(held.table, self.terms)))
        patterns, which = np.unique(known, axis=0, return_inverse=True)
        probabilities, predictor = np.empty((len(known), len(self._levels))), np.empty(len(known))
        for code, pattern in enumerate(patterns):
            rows = which.reshape(-1) == code
            found = _forecast(self.of(tuple(compress(self.terms, pattern.tolist()))), held.of(rows))
            probabilities[rows], predictor[rows] = found.probabilities, found.predictor
        return Forecast(probabilities, predictor)

    def _fitted(self, terms: tuple[str, ...]) -> _Fitted:
        sample = self._rest.sample(terms, self._rest.with_known(terms), self._levels)
        _check_rows(self._rest, sample, self._name)
        kept, reasons = identifiable(sample)
        with placed(f"without {self._name}"):
            found = fit_sample(sample.having(kept)) if kept else None
        return _Fitted(kept, found, sample.shares, reasons)


def cross_validate(
    judged: Judged, way: Way, views: Sequence[View], terms: tuple[str, ...], levels: Array, progress: Callable[[], None]
) -> tuple[list[HeldOutPrediction], list[str]]:
    """Predictions for each row of each view by fits to the rows of all other folds.

    levels  (l,) levels of the fits, rising
    progress  called after each fold

    A row with an unknown feature is predicted by a fit of its known terms to all rows of the other folds with these
    terms; a row without known terms, by the shares of the levels. Terms that the other folds cannot determine are left
    out of the fit, with a sentence for each one missing from the whole model.
    """
    examples = judged.examples
    own = [{} if view.drawn is None else judged.seeing(view.drawn, "own query") for view in views]
    within, notes = examples.having_level(levels), []
    said: list[list[_Said]] = [[] for _ in views]
    for fold in judged.folds(way):
        fits = _Fits(examples, fold, terms, levels)
        notes += [f"without {fold.name}, {reason}" for reason in fits.of(terms).reasons]
        for place, view in enumerate(views):
            rows = np.flatnonzero(fold.held & view.rows & within)
            state = fold if view.drawn is None else judged.in_part(fold, view.drawn, own[place])
            matched = None if view.drawn is None else _Fits(examples, state, terms, levels)
            said[place].append(_say(fits, matched, replace(examples, table=state.applied).of(rows), rows))
        progress()
    for view, parts in zip(views, said, strict=True):
        notes += [f"{view.label}, no fit at this share: {part.trouble}" for part in parts if part.trouble][:1]
    return [_assemble(examples, view, parts, levels) for view, parts in zip(views, said, strict=True)], notes


def _say(fits: _Fits, matched: _Fits | None, held: Examples, rows: Integers) -> _Said:
    """Predictions for some held-out rows, as in practical use."""
    shares = Forecast(np.tile(fits.of(fits.terms).shares, (len(rows), 1)), None)
    fewer = int(np.sum(~held.with_known(fits.terms)))
    try:
        beside, trouble = None if matched is None else matched.predict(held), None
    except InputError as error:  # this fit is only for comparison and may have too few rows
        beside, trouble = None, str(error)
    return _Said(rows, fits.predict(held), beside, shares, fewer, trouble)


def _assemble(examples: Examples, view: View, parts: Sequence[_Said], levels: Array) -> HeldOutPrediction:
    """The parts of all folds combined, in the order of the rows."""
    rows = np.concatenate([part.rows for part in parts])
    if len(rows) == 0:
        raise InputError(f"{view.label}: no judgment is left to predict")
    order = np.argsort(rows)
    matched = [part.matched for part in parts if part.matched is not None]
    return HeldOutPrediction(
        examples.of(rows[order]).sample((), np.ones(len(rows), dtype=np.bool_), levels),
        _joined([part.model for part in parts], order),
        _joined(matched, order) if len(matched) == len(parts) else None,
        _joined([part.historical for part in parts], order),
        sum(part.fewer for part in parts),
    )


def _joined(parts: Sequence[Forecast], order: Integers) -> Forecast:
    probabilities = np.concatenate([part.probabilities for part in parts])[order]
    predictors = [part.predictor for part in parts if part.predictor is not None]
    return Forecast(probabilities, np.concatenate(predictors)[order] if predictors else None)


def _forecast(fitted: _Fitted, rows: Examples) -> Forecast:
    if fitted.fit is not None:
        return forecast(fitted.fit, design(rows.table, fitted.terms))
    same = thresholds_of(fitted.shares).mean()
    return Forecast(np.tile(fitted.shares, (len(rows.level), 1)), np.full(len(rows.level), same))


def _check_rows(rest: Examples, sample: Sample, name: str) -> None:
    """Raise an error if the rows outside a fold lack the features or levels for a fit."""
    if len(sample.level) == 0:
        raise InputError(
            f"without {name}, every judged pair has an unknown feature: {', '.join(rest.unknown(sample.terms))}"
        )
    if not np.all(sample.shares):
        place = int(np.argmin(sample.shares))
        level, known = sample.labels[place], ", ".join(rest.unknown(sample.terms))
        if rest.having_level(sample.levels[[place]]).any():
            raise InputError(f"without {name}, no judgment of level {level} is about a pair with known {known}")
        raise InputError(f"all judgments of level {level} are in {name}: use fewer folds, or 0 for none")
