"""Beliefs as arrays: who gains most from the release, by a measure of one's own (bits of surprise at the truth)."""

import sys

import numpy as np

import unveil


def main(data: str, schema_file: str) -> int:
    """Print the mean surprise of learner and attacker, and the group that the release exposes most."""
    schema = unveil.read_schema(schema_file).confirmed()
    table = unveil.read_table(data, schema)
    release = unveil.anonymizer("anatomy:l=4").anonymize(table, unveil.Engine()).release
    audit = unveil.run_audit({"anatomy": release}, original=table)
    ((_, attribute),) = audit.answers
    people = audit.people("anatomy", attribute)  # one row a person; it names people, so keep it to yourself
    surprise = {who: -np.log2(people[f"{who}_belief"].to_numpy()) for who in ("learner", "attacker")}
    for who, bits in surprise.items():
        print(f"{who:<10} is surprised by the truth by {bits.mean():.2f} bits on average")
    gain = surprise["learner"] - surprise["attacker"]
    by_sex = {sex: gain[(people["known:sex"] == sex).to_numpy()].mean() for sex in sorted(set(people["known:sex"]))}
    for sex, bits in by_sex.items():
        print(f"known:sex={sex:<8} the release gives away {bits:.2f} bits")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
