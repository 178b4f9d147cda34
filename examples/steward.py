"""Two candidates for publication: audit both, write the report, and write the release that keeps the limits."""

import sys
from pathlib import Path

import unveil
from unveil.report import render_page

CANDIDATES = {"mondrian.csv": "mondrian:k=5,l=3", "anatomy.csv": "anatomy:l=4"}
LIMITS = ["bayesian.relative_global_threat <= 0.15", "bayesian.confident.80 <= 0.2"]


def main(data: str, schema_file: str) -> int:
    """0 if a candidate may be published."""
    schema = unveil.read_schema(schema_file).confirmed()
    table = unveil.read_table(data, schema)
    made = {name: unveil.anonymizer(method).anonymize(table, unveil.Engine()) for name, method in CANDIDATES.items()}
    releases = {name: found.release for name, found in made.items()}
    audit = unveil.run_audit(releases, original=table, limits=LIMITS, release_type="public")
    Path("report.html").write_text(render_page(audit.document), encoding="utf-8")
    kept = [name for name, verdict in audit.document.diagnostics["verdicts"].items() if verdict == "within"]
    for name, text in audit.document.diagnostics["sentence"].items():
        print(name, "may be published:" if name in kept else "may not:", *text.values())
    if kept:
        unveil.write_release(releases[kept[0]], "publish.csv")
        print("wrote publish.csv and report.html")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
