"""Documents against the JSON schemas that are published in docs/schemas, which are their definition."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from unveil.audit.document import Document

SCHEMAS = Path(__file__).parent.parent / "docs" / "schemas"
SOME = 3  # findings are all of one shape, which Document itself checks


@cache
def _validator(name: str) -> Draft202012Validator:
    schema = json.loads((SCHEMAS / f"{name}-2.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def check_document(document: dict[str, Any]) -> dict[str, Any]:
    """The document, which has the shape of its kind: nothing is missing from it, and nothing is added."""
    read = Document.model_validate(document)
    told = json.loads(read.model_dump_json())
    _validator(read.document).validate({**told, "findings": told["findings"][:SOME]})
    return document
