"""One object under examination: what was found wrong with it, and the object as it is put right."""

from __future__ import annotations

from copy import deepcopy
from difflib import get_close_matches

from actuator.inventory.findings import Finding, error, info, warning
from actuator.manifest import Json


class Sheet:
    """Collects findings on one document while its rules correct it.

    Attributes:
        body: The document as corrected so far; the one that was given stays as it is.
        findings: What was found, in the order of the rules.
    """

    def __init__(self, body: Json, name: str) -> None:
        self.body: Json = deepcopy(body)
        self.findings: list[Finding] = []
        self._name = name

    def fault(self, code: str, path: str, what: str, fix: str) -> None:
        """Note what a server would refuse, or what would not do what it says."""
        self.findings.append(error(code, self._at(path), what, fix))

    def doubt(self, code: str, path: str, what: str, fix: str) -> None:
        """Note what is taken, but is likely not what is meant."""
        self.findings.append(warning(code, self._at(path), what, fix))

    def hint(self, code: str, path: str, what: str, fix: str) -> None:
        """Note what a person should know."""
        self.findings.append(info(code, self._at(path), what, fix))

    def _at(self, path: str) -> str:
        return f"{self._name}: {path}" if path else self._name


def nearest(word: str, known: list[str]) -> str | None:
    """Return the known word that is most like one, `None` if none is."""
    close = get_close_matches(word, known, n=1, cutoff=0.75)
    return close[0] if close else None
