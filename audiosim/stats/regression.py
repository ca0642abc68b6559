"""The ordinal model as a scikit-learn estimator."""

import warnings
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from audiosim.errors import InputError
from audiosim.stats import ordinal
from audiosim.stats.arrays import Array
from audiosim.stats.ordinal import OrdinalFit, UnidentifiedError, fit_ordinal

FALLBACK_RIDGE = 1e-3  # small beside any information; used where there is no single maximum, and creates one


class OrdinalRegression(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Proportional odds regression: P(R >= l | x) = logistic(alpha_l + beta.x).

    ridge         penalty: ridge / 2 times the sum of the squared coefficients of standardised features
    unidentified  "ridge" or "error": see below

    After `fit_ordinal`:

    classes_             (l,) the levels, rising
    coef_                (k,) coefficients in the units of the features
    thresholds_          (l - 1,) alpha for each level but the lowest, falling
    log_likelihood_      log-likelihood at the maximum, without the penalty
    covariance_          (l - 1 + k, l - 1 + k) covariance of thresholds, then coefficients
    standard_errors_     (k,) standard errors of coef_, from the information matrix
    threshold_standard_errors_         (l - 1,)
    robust_standard_errors_            (k,) if rows of one group may be correlated; None without `groups`
    n_iter_              Newton steps
    result_              all of it as `stats.ordinal_fit.Fit`

    If no single set of coefficients is the most likely (the features separate the levels, depend on each other, or are
    more than the rows can determine), a UserWarning names the columns and a small ridge is used; with
    `unidentified="error"` an UnidentifiedError names them instead. `audiosim train` fits by the same `fit_ordinal`, see
    `training.likelihood.fit_sample`. McCullagh (1980).
    """

    def __init__(self, ridge: float = 0.0, unidentified: Literal["ridge", "error"] = "ridge") -> None:
        self.ridge = ridge
        self.unidentified = unidentified

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Fit to features X (n, k) and levels y (n,): numbers, which sort from lowest to highest.

        sample_weight  (n,) multiplicity of each row, 0 or more
        groups         (n,) groups for robust standard errors, such as the query of each judgment
        """
        if self.unidentified not in {"ridge", "error"}:
            raise InputError(f"unidentified must be ridge or error, got {self.unidentified!r}")
        _check_ridge(self.ridge)
        _check_order(y)
        checked: tuple[Array, NDArray[Any]] = validate_data(self, X, y, dtype=np.float64)
        features, grades = checked
        check_classification_targets(grades)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, features)
        counted = np.full(len(grades), True) if weights is None else weights != 0
        self.classes_, level = np.unique(grades[counted], return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(f"expected at least two levels, got {len(self.classes_)} class")
        arguments = {
            "weights": None if weights is None else weights[counted],
            "groups": None if groups is None else np.asarray(groups)[counted],
            "names": getattr(self, "feature_names_in_", None),
            "labels": self.classes_.tolist(),
        }
        estimate = fit_ordinal if self.unidentified == "error" else _fit_or_ridge
        self._keep(estimate(features[counted], level, ridge=self.ridge, **arguments))
        return self

    def _keep(self, found: OrdinalFit) -> None:
        deviations = np.sqrt(np.diag(found.covariance))
        t = len(found.thresholds)
        self.coef_, self.thresholds_ = found.coefficients, found.thresholds
        self.log_likelihood_, self.covariance_ = found.log_likelihood, found.covariance
        self.threshold_standard_errors_, self.standard_errors_ = deviations[:t], deviations[t:]
        self.robust_standard_errors_ = None if found.robust is None else np.sqrt(np.diag(found.robust))[t:]
        self.n_iter_, self.result_ = found.iterations, found

    def predict_proba(self, X: ArrayLike) -> Array:
        """(n, l) probability of each level; rows sum to 1."""
        check_is_fitted(self)
        features: Array = validate_data(self, X, dtype=np.float64, reset=False)
        return ordinal.level_probabilities(self.thresholds_, features @ self.coef_)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """(n,) most probable level; of equally probable ones the lower."""
        likeliest = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[likeliest])

    def expectation(self, X: ArrayLike) -> Array:
        """(n,) expected level; levels must be numbers."""
        return ordinal.expectation(self.predict_proba(X), self._numbers())

    def variance(self, X: ArrayLike) -> Array:
        """(n,) variance of the level; levels must be numbers."""
        return ordinal.variance(self.predict_proba(X), self._numbers())

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # for classes that are not ordered along any direction
        return tags

    def _numbers(self) -> Array:
        if self.classes_.dtype.kind not in "iufb":
            raise InputError(f"the levels must be numbers to have an expectation, got {self.classes_.tolist()}")
        return self.classes_.astype(np.float64)


def _check_ridge(ridge: object) -> None:
    if not isinstance(ridge, Real) or not 0 <= float(ridge) < np.inf:
        raise InputError(f"ridge must be a finite number, 0 or more, got {ridge!r}")


def _check_order(levels: object) -> None:
    """Raise an error if sorting would lose the order of levels: of text, or of a categorical low < mid < high."""
    dtype = getattr(levels, "dtype", None)
    order = list(dtype.categories) if getattr(dtype, "ordered", False) else []  # type: ignore[union-attr]
    if order != sorted(order):
        raise InputError(
            f"the categories of y are ordered {' < '.join(map(str, order))}, but levels sort as "
            f"{' < '.join(map(str, sorted(order)))}: expected numbers, such as y.cat.codes"
        )
    if not order and any(isinstance(level, str) for level in np.asarray(levels, dtype=object).ravel()):
        raise InputError("the levels are text, whose order is unknown: expected numbers, such as 0, 1, 2")


def _fit_or_ridge(features: Array, level: NDArray[np.int64], ridge: float, **arguments: Any) -> OrdinalFit:
    try:
        return fit_ordinal(features, level, ridge=ridge, **arguments)
    except UnidentifiedError as error:
        warnings.warn(f"{error}; a ridge of {FALLBACK_RIDGE:g} was used", stacklevel=3)
        return fit_ordinal(features, level, ridge=FALLBACK_RIDGE, **arguments)
