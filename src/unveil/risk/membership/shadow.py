"""Membership inference against models: was a person among those a model learned from? (Shokri et al. 2017, Torra 2024)

Shadow models are trained as the target was, on people of whom the attacker knows whether they took part; a classifier
learns from their answers what a model's answer looks like for people it has seen.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from unveil.data.belief import Estimate
from unveil.engine import Engine
from unveil.errors import UsageError
from unveil.risk.membership.scores import Roc, likelihood_scores, roc, true_positive_at

__all__ = [
    "Fit",
    "Inference",
    "PredictProba",
    "ShadowAttack",
    "infer_membership",
    "scores_by_roster",
    "train_shadows",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.integer]
Fit = Callable[[Any, Codes], Any]  # (features, labels) -> a model
PredictProba = Callable[[Any, Any], Any]  # (model, features) -> (people, classes) chances, as the labels are numbered
FALSE_ALARMS = (0.001, 0.01, 0.1)
FEW = 20  # people a leaf of the attacking forest holds at least


@dataclass(frozen=True, slots=True, eq=False)
class ShadowAttack:
    """What the shadows taught: a classifier of answers for every label."""

    classes: int
    attackers: tuple[Any, ...]  # by label; None where nobody with it was seen on both sides
    with_features: bool

    def score(self, answer: Floats, labels: Codes, features: Any = None) -> Floats:
        """(people,) how much each looks like somebody the model has learned from. `answer` (people, classes)."""
        found = np.full(len(labels), 0.5)
        tuples = _tuples(np.asarray(answer, dtype=np.float64), labels, features if self.with_features else None)
        for label, attacker in enumerate(self.attackers):
            mine = np.flatnonzero(labels == label)
            if attacker is not None and len(mine):
                found[mine] = attacker.predict_proba(tuples[mine])[:, 1]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Inference:
    """How well members are told from others by a model's answers."""

    roc: Roc
    true_positive: dict[float, float]  # share of members found, by share of others accused
    trained: float  # accuracy of the model on the people it learned from
    tested: float  # … and on others: the difference is what there is to see

    @property
    def auc(self) -> Estimate:
        """The chance that a member scores higher than somebody else."""
        return self.roc.auc


class ShadowOptions(TypedDict, total=False):
    """How shadow models are trained."""

    shadows: int
    with_features: bool
    predict_proba: PredictProba | None


def train_shadows(
    fit: Fit,
    features: Any,
    labels: Codes,
    *,
    shadows: int = 8,
    predict_proba: PredictProba | None = None,
    with_features: bool = False,
    engine: Engine | None = None,
) -> ShadowAttack:
    """Train each shadow on a random half of the people given, and a random forest on what they answer (Torra's mia).

    `labels` are numbered from 0. `with_features`: the attacker also looks at the person's own values.
    """
    features, labels = _checked(features, labels)
    if shadows < 1:
        raise UsageError(f"{shadows} shadow models teach nothing; train 1 or more")
    classes = int(labels.max()) + 1
    random = (Engine(seed=0) if engine is None else engine).named("shadows").generator()
    seen, member = [], []
    for _ in range(shadows):
        order = random.permutation(len(labels))
        inside = np.zeros(len(labels), dtype=bool)
        inside[order[: len(labels) // 2]] = True
        seen.append(_answers(fit(features[inside], labels[inside]), features, predict_proba, classes))
        member.append(inside)
    return _learned(seen, member, labels, classes, features if with_features else None, random)


def scores_by_roster(
    fit: Fit,
    features: Any,
    labels: Codes,
    inside: NDArray[np.bool_],
    *,
    shadows: int = 16,
    predict_proba: PredictProba | None = None,
    engine: Engine | None = None,
) -> tuple[dict[str, Floats], Floats]:
    """Scores of everybody, asked of a model that learned from the people `inside`, by one who knows all who may be in.

    Each shadow learns from as many people, drawn from all. `confidence`: the chance that the model gives the true label
    (Yeom et al. 2018), which needs no shadow; `shadow`: a forest that learned from the shadows' answers, see
    `ShadowAttack`; `likelihood`: `likelihood_scores` of the log odds of the true label (Carlini et al. 2022). Last,
    (people,) whether the model guesses right.
    """
    features, labels = _checked(features, labels)
    if inside.shape != labels.shape or not inside.any() or inside.all():
        raise UsageError("the model must have learned from some of these people, and not from others")
    if shadows < 2:
        raise UsageError(f"{shadows} shadow models do not show a person in and out; train 2 or more")
    engine = Engine(seed=0) if engine is None else engine
    random = engine.named("roster").generator()
    classes, people = int(labels.max()) + 1, len(labels)
    target = _answers(fit(features[inside], labels[inside]), features, predict_proba, classes)
    seen, member = [], []
    order = np.arange(people)
    for number in range(shadows):
        # Every other shadow has those whom the one before left out first, so that all are in about as many.
        order = order[::-1] if number % 2 else random.permutation(people)
        drawn = np.zeros(people, dtype=bool)
        drawn[order[: int(inside.sum())]] = True
        seen.append(_answers(fit(features[drawn], labels[drawn]), features, predict_proba, classes))
        member.append(drawn)
        engine.report("shadow models", number + 1, shadows)
    attack = _learned(seen, member, labels, classes, None, random)
    odds = [_log_odds(answer, labels) for answer in (*seen, target)]
    scores = {
        "confidence": _own(target, labels),
        "shadow": attack.score(target, labels),
        "likelihood": likelihood_scores(np.array(odds[:-1]), np.array(member), odds[-1]),
    }
    return scores, (target.argmax(axis=1) == labels).astype(np.float64)


def _learned(
    answers: Sequence[Floats],
    member: Sequence[NDArray[np.bool_]],
    labels: Codes,
    classes: int,
    features: Any,
    random: np.random.Generator,
) -> ShadowAttack:
    """A forest a label, from what every shadow answers about everybody."""
    from sklearn.ensemble import RandomForestClassifier

    tuples = np.concatenate([_tuples(answer, labels, features) for answer in answers])
    inside, of = np.concatenate(member), np.concatenate([labels] * len(answers))
    attackers: list[Any] = []
    for one in range(classes):
        mine = of == one
        if not mine.any() or inside[mine].all() or not inside[mine].any():
            attackers.append(None)
            continue
        seed = int(random.integers(2**31))
        forest = RandomForestClassifier(50, min_samples_leaf=FEW, random_state=seed)
        attackers.append(forest.fit(tuples[mine], inside[mine]))
    return ShadowAttack(classes, tuple(attackers), features is not None)


def infer_membership(
    fit: Fit, features: Any, labels: Codes, *, engine: Engine | None = None, **options: Unpack[ShadowOptions]
) -> Inference:
    """The whole trial on people you have: a quarter trains the target, a quarter stays out, half is the attacker's.

    Options are those of `train_shadows`. The target is fitted as the shadows are. AUC has the interval of DeLong;
    shares found have none.
    """
    engine = Engine(seed=0) if engine is None else engine
    features, labels = _checked(features, labels)
    if len(labels) < 8:
        raise UsageError(f"{len(labels)} people are too few to be cut into four parts; give 8 or more")
    classes = int(labels.max()) + 1
    order = engine.named("shadow split").generator().permutation(len(labels))
    quarter = len(labels) // 4
    inside, outside, pool = order[:quarter], order[quarter : 2 * quarter], order[2 * quarter :]
    target = fit(features[inside], labels[inside])
    # Asked before the shadows are fitted: the `fit` of one scikit-learn model gives the same model each time.
    asked = options.get("predict_proba")
    answers = [_answers(target, features[part], asked, classes) for part in (inside, outside)]
    attack = train_shadows(fit, features[pool], labels[pool], engine=engine, **options)
    scores = [attack.score(a, labels[p], features[p]) for a, p in zip(answers, (inside, outside), strict=True)]
    right = [float((a.argmax(axis=1) == labels[p]).mean()) for a, p in zip(answers, (inside, outside), strict=True)]
    curve = roc(scores[0], scores[1])
    return Inference(curve, {f: true_positive_at(curve, f) for f in FALSE_ALARMS}, *right)


def _checked(features: Any, labels: Codes) -> tuple[Any, Codes]:
    features, labels = np.asarray(features), np.asarray(labels)
    if features.ndim != 2 or labels.shape != (len(features),):
        raise UsageError("features must be a table with one row per person, and labels one number per person")
    if not len(labels) or labels.dtype.kind not in "iu" or labels.min() < 0:
        raise UsageError("labels must be whole numbers from 0; number the classes first")
    return features, labels


def _answers(model: Any, features: Any, predict_proba: PredictProba | None, classes: int) -> Floats:
    """(people, classes) a model's chances. One of scikit-learn's leaves out labels it has not met."""
    given = np.asarray(
        model.predict_proba(features) if predict_proba is None else predict_proba(model, features), dtype=np.float64
    )
    met = getattr(model, "classes_", None) if predict_proba is None else None
    found = given
    if met is not None:
        found = np.zeros((len(features), classes))
        met = np.asarray(met, dtype=np.int64)
        found[:, met[met < classes]] = given[:, met < classes]
    if found.ndim == 2 and found.shape[1] < classes:
        found = np.pad(found, ((0, 0), (0, classes - found.shape[1])))
    if found.ndim != 2 or len(found) != len(features):
        raise UsageError("predict_proba must give one row of probabilities per person")
    return found[:, :classes]


def _tuples(answer: Floats, labels: Codes, features: Any) -> Floats:
    """What the attacker looks at: the chances, that of the true label, and the person's values if they are used."""
    own = _own(answer, labels)[:, None]
    parts = [answer, own] if features is None else [answer, own, np.asarray(features, dtype=np.float64)]
    return np.concatenate(parts, axis=1)


def _own(answer: Floats, labels: Codes) -> Floats:
    """(people,) the chance given to the true label."""
    place = np.minimum(labels, answer.shape[1] - 1)[:, None].astype(np.int64)
    return np.asarray(np.take_along_axis(answer, place, axis=1)[:, 0])


def _log_odds(answer: Floats, labels: Codes) -> Floats:
    """(people,) log odds of the true label; ±inf where the model is certain."""
    own = np.clip(_own(answer, labels), 0.0, 1.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(own) - np.log1p(-own))
