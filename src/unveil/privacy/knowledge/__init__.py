"""Knowledge: what is held beforehand, as a distribution over the sensitive values for each quasi-identifier cell.

One file a member: a frozen dataclass with `prior(table, asked) -> PersonPrior`. Attackers never import this folder,
because it reads the original table; they are handed the `PersonPrior`.
"""
