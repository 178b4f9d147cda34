"""A certificate verified anew: the files are those that were certified, and every reader is asked again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unveil.audit.bounds import Rule, rules_of
from unveil.audit.case import Case
from unveil.audit.certificate import ReleaseCertificate, certify
from unveil.data.attribute import Role
from unveil.data.release import Release
from unveil.errors import UnveilError, UsageError, shown

__all__ = ["CertifiedFiles", "read_certificate", "verify_certificate"]


@dataclass(frozen=True, slots=True)
class CertifiedFiles:
    """What a certificate says of a release: its files, its limits, and whether random_worlds keeps these."""

    name: str
    files: Mapping[str, str]  # name -> SHA-256
    rules: tuple[Rule, ...]
    limits: tuple[str, ...]  # as an audit takes them
    worlds: bool


def read_certificate(content: bytes, name: str) -> CertifiedFiles:
    """Of `anonymize --until`; refuse what is none, or says less than one."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("document") != "certificate" or found.get("version") != 1:
        raise UsageError(f"{name}: not a certificate of unveil; give the .certificate.json that --until wrote")
    files, readers = found.get("files"), found.get("readers")
    if not isinstance(files, dict) or not files or not all(isinstance(one, str) for one in files.values()):
        raise UsageError(f"{name}: names no files with their digests; give the certificate as it was written")
    if not isinstance(readers, list) or not all(isinstance(one, dict) for one in readers):
        raise UsageError(f"{name}: names no readers; give the certificate as it was written")
    worlds = any(one.get("reader") == "random_worlds" for one in readers)
    stated = _texts(found, "stated", name)
    try:
        rules = tuple(rules_of(stated))
    except UnveilError as error:
        raise UsageError(f"{name}: {error}") from None
    limits = tuple(text for rule in rules for text in rule.stated(worlds=worlds))
    if sorted(_texts(found, "limits", name)) != sorted(limits) or len(rules) != len(stated):
        raise UsageError(f"{name}: its limits are not those that were stated; give the certificate as it was written")
    return CertifiedFiles(name, files, rules, limits, worlds)


def _texts(found: Mapping[str, Any], key: str, name: str) -> Sequence[str]:
    texts = found.get(key)
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise UsageError(f"{name}: holds no {key}; give the certificate as it was written")
    return texts


def verify_certificate(certified: CertifiedFiles, case: Case) -> ReleaseCertificate:
    """Compare digests with the files that were read, then ask every reader again, with this case's seed."""
    published = {one.name: one.sha256 for one in case.inputs if one.published}
    for file, digest in certified.files.items():
        if file not in published:
            raise UsageError(f"{certified.name}: certifies {shown(file)}, which is not among the files of this audit")
        if published[file] != digest:
            raise UsageError(f"{certified.name}: {shown(file)} is not the file that was certified; its digest differs")
    strange = sorted(set(published) - set(certified.files))
    if strange or len(case.releases) != 1:
        which = f"{shown(strange[0])} is" if strange else "several releases are"
        raise UsageError(f"{certified.name}: {which} not certified by it; audit the certified release alone")
    (release,) = case.releases.values()
    if case.original is None or not isinstance(release, Release):
        raise UsageError("--certificate needs --original: readers are compared with the truth")
    asked = case.original.with_role(Role.SENSITIVE)
    return certify(case.original, release, asked, certified.rules, case.engine, worlds=certified.worlds)
