"""How much masking is enough? The share of people linked with their own row, for each method and strength."""

import sys

import unveil

METHODS = ["noise:amount=0.05", "noise:amount=0.2", "noise:amount=0.8", "microaggregation:k=3", "microaggregation:k=10"]


def main(data: str, schema_file: str) -> int:
    """Print one line per method."""
    schema = unveil.read_schema(schema_file).confirmed()
    table = unveil.read_table(data, schema)
    print(f"{'method':<24}{'linked':>10}{'by chance':>12}")
    for method in METHODS:
        made = unveil.anonymizer(method).anonymize(table, unveil.Engine())
        link = unveil.run_link(made.release, table=table, group=made.group_of_row, known=["age", "sex"], subsets=0)
        found = next(f for f in link.document.findings if f.id == "distance.reid")
        print(f"{method:<24}{found.value:>10.2%}{1 / table.rows:>12.2%}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
