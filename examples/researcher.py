"""Beliefs as arrays: who gains most from the release, by a measure of one's own (bits of surprise at the truth)."""

import sys

import numpy as np

import unveil


def main(data: str, schema_file: str) -> int:
    """Print the mean surprise of learner and attacker, and the group that the release exposes most."""
    schema = unveil.read_schema(schema_file).confirmed()
    table = unveil.read_table(data, schema)
    release = unveil.anonymizer("anatomy:l=4").anonymize(table, unveil.Engine()).release
    found = unveil.attack(release, table, ["bayesian"])
    row = np.arange(table.rows)
    beliefs = {"learner": found.learner, **found.attackers}
    surprise = {who: -np.log2(belief.probability[row, found.truth]) for who, belief in beliefs.items()}
    for who, bits in surprise.items():
        print(f"{who:<10} is surprised by the truth by {bits.mean():.2f} bits on average")
    gain = surprise["learner"] - surprise["bayesian"]
    sexes = np.array(found.known_texts(release)["sex"])
    for sex in np.unique(sexes):
        print(f"sex={sex:<8} the release gives away {gain[sexes == sex].mean():.2f} bits")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
