"""Inference models: from a release to a prediction about a target (Kassem et al. 2019, sections 3.2 and 4.4.1)."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from unveil.catalog import parse
from unveil.data.release import Release
from unveil.errors import UsageError, shown
from unveil.risk.classifiers import classifier_named
from unveil.risk.differential.evidence import Counts, counts_of, encoded_rows

__all__ = ["BernoulliNaiveBayes", "Classifier", "Conditional", "CountModel", "Model", "inference_model"]

Predictions = NDArray[np.float64]  # (targets, values), rows sum to 1


class Model(Protocol):
    """An inference algorithm: it is built on a release and asked about targets' codes."""

    @property
    def name(self) -> str:
        """As it is written on the command line."""
        ...

    def predict(self, release: Release, asked: int, codes: NDArray[np.integer]) -> Predictions:
        """What the release lets one predict of targets with these codes (targets, quasi-identifiers)."""
        ...


class CountModel(ABC):
    """A model that needs only counts: leave-one-out can update these without a new release."""

    joint = True  # whether it asks for the counts of rows all of whose cells fit

    @abstractmethod
    def from_counts(self, counts: Counts) -> Predictions:
        """The prediction for each target."""

    def predict(self, release: Release, asked: int, codes: NDArray[np.integer]) -> Predictions:
        """Count, then predict."""
        return self.from_counts(counts_of(release, asked, codes, joint=self.joint))


@dataclass(frozen=True, slots=True)
class BernoulliNaiveBayes(CountModel):
    """Bernoulli naive Bayes on the target-relative encoding, every feature 1 for the target (section 4.3).

    `alpha` smooths as scikit-learn's BernoulliNB does; `prior` (values,) replaces the classes' shares.
    """

    alpha: float = 1.0
    prior: tuple[float, ...] | None = None
    joint = False
    name = "bernoulli_nb"

    def __post_init__(self) -> None:
        if not self.alpha > 0:
            raise UsageError(f"bernoulli_nb: alpha = {self.alpha}: choose a positive number")

    def from_counts(self, counts: Counts) -> Predictions:
        """P(s) · prod over attributes of (rows of s whose cell holds the target's value + alpha) / (rows of s + 2α)."""
        overall = counts.overall
        weight = overall / overall.sum(axis=1, keepdims=True) if self.prior is None else np.array(self.prior)[None]
        likely = np.log((counts.each + self.alpha) / (overall + 2 * self.alpha)[:, None]).sum(axis=1)
        with np.errstate(divide="ignore"):
            return _normalised(np.log(weight) + likely)


@dataclass(frozen=True, slots=True)
class Conditional(CountModel):
    """Shares of the sensitive values among the rows whose cells all hold the target's (section 3.2's example).

    Of a target that fits no row it says what it says of everybody: the shares in the whole release.
    """

    prior: tuple[float, ...] | None = None
    name = "conditional"

    def from_counts(self, counts: Counts) -> Predictions:
        """With a prior, counts of a value are weighted as if its share in the release were the prior's."""
        uncovered = counts.joint.sum(axis=1) <= 0
        rows = np.where(uncovered[:, None], counts.overall, counts.joint)
        if self.prior is not None:
            rows = np.divide(rows * np.array(self.prior), counts.overall, out=np.zeros_like(rows), where=rows > 0)
            empty = rows.sum(axis=1) <= 0
            rows[empty] = self.prior
        return np.asarray(rows / rows.sum(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True)
class Classifier:
    """Any scikit-learn classifier with predict_proba, fitted to the rows encoded relative to each target."""

    estimator: Any
    name: str
    prior: tuple[float, ...] | None = None

    def predict(self, release: Release, asked: int, codes: NDArray[np.integer]) -> Predictions:
        """One fit a distinct target."""
        values = release.attributes[asked].codes
        target, number = np.unique(codes, axis=0, return_inverse=True)
        found = np.array([self._one(release, asked, row, values) for row in target])
        return np.asarray(found[number.ravel()])

    def _one(self, release: Release, asked: int, target: NDArray[np.integer], values: int) -> NDArray[np.float64]:
        from sklearn.base import clone
        from sklearn.utils.validation import has_fit_parameter

        rows = encoded_rows(release, asked, target)
        probability = np.zeros(values)
        classes, size = np.unique(rows.value), np.bincount(rows.value, rows.weight, minlength=values)
        if len(classes) == 1:  # many classifiers refuse a single class; there is nothing to learn
            probability[classes] = 1.0
        else:
            ones, value, weight = rows.ones.astype(np.float64), rows.value, rows.weight
            made = clone(self.estimator)
            if has_fit_parameter(made, "sample_weight"):
                made.fit(ones, value, sample_weight=weight)
            elif (weight != np.round(weight)).any():
                raise UsageError(
                    f"{self.name} takes no weights, and this release hides which value goes with which row; "
                    "use bernoulli_nb or conditional"
                )
            else:
                times = weight.astype(np.int64)
                made.fit(np.repeat(ones, times, axis=0), np.repeat(value, times))
            probability[made.classes_] = made.predict_proba(np.ones((1, ones.shape[1])))[0]
        if self.prior is not None:
            share = size / size.sum()
            probability = np.divide(probability * np.array(self.prior), share, out=np.zeros(values), where=share > 0)
            if probability.sum() <= 0:
                probability = np.array(self.prior)
        return np.asarray(probability / probability.sum())


def inference_model(
    model: "str | Model | Any", *, prior: Mapping[str, float] | None = None, values: tuple[str, ...] = (), seed: int = 0
) -> Model:
    """A model by name with options, a model of ours, or a scikit-learn classifier; `prior` by sensitive value."""
    held = None if prior is None else _prior(prior, values)
    if isinstance(model, str):
        name, options = parse(model)
        if name in ("bernoulli_nb", "conditional"):
            return _own(name, options, held)
        others = "bernoulli_nb, conditional or "
        return Classifier(classifier_named(name, options, seed, others=others), model, held)
    if hasattr(model, "fit") and hasattr(model, "predict_proba"):
        return Classifier(model, type(model).__name__, held)
    if hasattr(model, "predict") and hasattr(model, "name"):
        if held is not None:
            raise UsageError(f"{type(model).__name__} is a model of its own; give it the class priors when it is made")
        return cast(Model, model)
    raise UsageError(f"{type(model).__name__} is not an inference model; it needs fit and predict_proba, or predict")


def _own(name: str, options: Mapping[str, Any], prior: tuple[float, ...] | None) -> Model:
    known = {"alpha"} if name == "bernoulli_nb" else set()
    wrong = [key for key in options if key not in known]
    if wrong:
        raise UsageError(f"{name}: unknown option {shown(wrong[0])}; choose from {', '.join(known) or 'none'}")
    if name == "conditional":
        return Conditional(prior)
    try:
        return BernoulliNaiveBayes(float(options.get("alpha", 1.0)), prior)
    except ValueError:
        raise UsageError(f"{name}, alpha: {shown(options['alpha'])} is not a number") from None


def _prior(prior: Mapping[str, float], values: tuple[str, ...]) -> tuple[float, ...]:
    unknown = [name for name in prior if name not in values]
    if unknown:
        raise UsageError(f"the prior names {shown(unknown[0])}, which is not a sensitive value")
    weight = np.array([float(prior.get(value, 0.0)) for value in values])
    if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.sum() > 0):
        raise UsageError("class priors must be finite numbers of at least 0, not all of them 0")
    return tuple((weight / weight.sum()).tolist())


def _normalised(logs: NDArray[np.float64]) -> Predictions:
    top = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(top / top.sum(axis=1, keepdims=True))
