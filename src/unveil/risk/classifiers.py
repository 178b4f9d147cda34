"""Classifiers of scikit-learn by their names, as options and files give them."""

import ast
from collections.abc import Mapping
from typing import Any

from unveil.errors import UsageError, shown

__all__ = ["classifier_named"]


def classifier_named(name: str, options: Mapping[str, Any], seed: int, *, others: str = "") -> Any:
    """A classifier that gives probabilities, not yet fitted. `others`: what else a caller takes, for the message."""
    from sklearn.utils import all_estimators

    found = dict(all_estimators(type_filter="classifier"))
    if name not in found:
        raise UsageError(
            f"unknown {'inference ' if others else ''}model {shown(name)}; choose {others}one of scikit-learn's "
            "classifiers by class name, for instance LogisticRegression or RandomForestClassifier:n_estimators=50"
        )
    settings = {key: _literal(value) for key, value in options.items()}
    try:
        made = found[name](**settings)
        if "random_state" in made.get_params() and "random_state" not in settings:
            made.set_params(random_state=seed)  # two models must differ by what they learned from alone
        fitted = made.fit([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]] * 5, [0, 1, 0, 1] * 5)
    except Exception as error:
        raise UsageError(f"{shown(name)} cannot be made with these options: {str(error).splitlines()[0]}") from None
    if not hasattr(fitted, "predict_proba"):
        raise UsageError(f"{shown(name)} gives no probabilities; choose a classifier with predict_proba")
    return made


def _literal(value: Any) -> Any:
    """A number, true, false or none as such, anything else as text."""
    text = str(value)
    if text.lower() in ("true", "false", "none"):
        return {"true": True, "false": False, "none": None}[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
