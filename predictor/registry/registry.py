"""Versions of models at a URL, and which of them serves."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from fleet.errors import InputError
from predictor.registry import artefact
from predictor.registry.artefact import FILES, MANIFEST, Artefact, check_signature, version_of
from predictor.registry.files import Files
from predictor.registry.gate import objections
from predictor.registry.manifest import Manifest, Signature
from predictor.registry.pointer import FOLDER, UNPROMOTED, Pointer, Promotion
from predictor.registry.trust import MODELS, MOST_BYTES

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_VERSION = re.compile(r"[0-9a-f]{12}")
_MOST_MANIFEST_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class Serving:
    """What serves.

    Attributes:
        promotion: The generation that says so.
        artefact: The model, `None` = none.
        passed_over: Later champions that cannot be used here, and why.
    """

    promotion: Promotion
    artefact: Artefact | None
    passed_over: tuple[str, ...]


class Registry:
    """Versions of models below a URL: NAME/VERSION/{manifest.json, model.skops, golden.skops, card.md}.

    What is published is never changed, and what serves only by `promote` and `rollback`. `UnavailableError`
    wherever the store does not answer.

    Args:
        url: A folder, or any fsspec URL.
        allowed: Import paths of estimators, beside ours, that models may be made of.
    """

    def __init__(self, url: str, allowed: Collection[str] = ()) -> None:
        self.url = url
        self._files = Files(url)
        self._trusted = MODELS.union(allowed)

    def publish(self, files: Mapping[str, bytes], name: str) -> str:
        """Store what `artefact.write` made, the manifest last, and return the name of the version.

        `InputError` if it could not be read back.
        """
        self._check_name(name)
        version = version_of(files[MANIFEST])
        self._sound(files, name, version)
        for file, data in files.items():
            self._files.write(f"{name}/{version}/{file}", data)
        return version

    def attach(self, name: str, version: str, file: str, data: bytes) -> None:
        """Put a page for people beside the files of a version; nothing is proved by it, nothing reads it."""
        if file in {MANIFEST, *FILES}:
            raise ValueError(f"{file} is written once")
        self._files.write(f"{self._check(name, version)}/{file}", data)

    def names(self) -> list[str]:
        """Return the names of all models."""
        return [name for name in self._files.names() if _NAME.fullmatch(name)]

    def versions(self, name: str) -> list[str]:
        """Return all versions of a model, whether they can be used or not."""
        self._check_name(name)
        return [one for one in self._files.names(name) if one != FOLDER and not one.startswith(".")]

    def manifest(self, name: str, version: str) -> Manifest:
        """Return what is said of a version, before anything else of it is read; `InputError` if unusable."""
        path = self._check(name, version)
        data = self._files.read(f"{path}/{MANIFEST}", _MOST_MANIFEST_BYTES)
        try:
            return artefact.read_manifest(data, name, version)
        except ValueError as error:
            raise _refused(name, version, error) from error

    def load(self, name: str, version: str, signature: Signature | None = None) -> Artefact:
        """Return a version once all that is said of it was found to hold.

        Args:
            name: Of the model.
            version: Which.
            signature: What it has to take and give, `None` = whatever it says.

        Raises:
            InputError: It is not there, broken, foreign, newer, or takes or gives something else.
        """
        path = self._check(name, version)
        files = {file: self._files.read(f"{path}/{file}", MOST_BYTES) for file in FILES}
        files[MANIFEST] = self._files.read(f"{path}/{MANIFEST}", _MOST_MANIFEST_BYTES)
        return self._sound(files, name, version, signature)

    def champion(self, name: str, signature: Signature | None = None) -> Serving:
        """Return what serves: the newest champion that is sound here, and why later ones are passed over."""
        self._check_name(name)
        pointer = Pointer(self._files, name)
        newest, passed_over = pointer.now(), []
        if newest.generation < (last := pointer.newest_number()):
            passed_over.append(f"model {name}: generation {last} of what serves cannot be read")
        for promotion in (newest, *pointer.back(newest)):
            if promotion.version is None:
                return Serving(promotion, None, tuple(passed_over))
            try:
                return Serving(promotion, self._promoted(name, promotion, signature), tuple(passed_over))
            except InputError as error:
                passed_over.append(str(error))
        return Serving(UNPROMOTED, None, tuple(passed_over))

    def promote(self, name: str, version: str, at_s: int, signature: Signature | None = None) -> Promotion:
        """Let a version serve that is sound and passes the gate, and return the new generation.

        Raises:
            InputError: It is unsound, has lost or is not calibrated; what serves stays.
            ConflictError: Another one was promoted meanwhile; that one stays.
        """
        self._check_name(name)
        pointer = Pointer(self._files, name)
        number, now = pointer.newest_number(), self.champion(name, signature)
        challenger = self.load(name, version, signature)
        if now.promotion.version == version:
            raise InputError("serves already", where=f"{name}/{version}", fix="promote another version")
        against = objections(challenger.manifest, now.promotion.version)
        if against:
            raise InputError(
                f"is not promoted: {'; '.join(against)}",
                where=f"{name}/{version}",
                fix="what serves stays; train and score it anew",
            )
        before = now.promotion.generation
        promotion = Promotion(number + 1, version, challenger.sha256, before, at_s)
        pointer.append(promotion)
        return promotion

    def rollback(self, name: str, at_s: int) -> Serving:
        """Let the champion before serve again, none if there was none; unsound ones are passed over.

        Raises:
            InputError: Nothing serves.
            ConflictError: Another one was promoted meanwhile; that one stays.
        """
        self._check_name(name)
        pointer = Pointer(self._files, name)
        number, now = pointer.newest_number(), pointer.now()
        if now.version is None:
            raise InputError("nothing serves", where=f"model {name}", fix="there is nothing to take back")
        passed_over: list[str] = []
        for earlier in pointer.back(now):
            found = None
            if earlier.version is not None:
                try:
                    found = self._promoted(name, earlier, None)
                except InputError as error:
                    passed_over.append(str(error))
                    continue
            new = Promotion(number + 1, earlier.version, earlier.manifest_sha256, earlier.before, at_s)
            pointer.append(new)
            return Serving(new, found, tuple(passed_over))
        raise AssertionError("the way back ends where nothing serves")

    def _promoted(self, name: str, promotion: Promotion, signature: Signature | None) -> Artefact:
        version = promotion.version or ""
        found = self.load(name, version, signature)
        if found.sha256 != promotion.manifest_sha256:
            raise _refused(name, version, ValueError("is not what was promoted (another SHA-256)"))
        return found

    def _sound(
        self,
        files: Mapping[str, bytes | None],
        name: str,
        version: str,
        signature: Signature | None = None,
    ) -> Artefact:
        try:
            found = artefact.read(files, name, version, self._trusted)
            if signature is not None:
                check_signature(found.manifest.signature, signature)
        except ValueError as error:
            raise _refused(name, version, error) from error
        return found

    def _check(self, name: str, version: str) -> str:
        """Return the folder of a version; `InputError` where such names are none of ours."""
        self._check_name(name)
        if not _VERSION.fullmatch(version):
            raise InputError(
                "is no version", where=f"{name}/{version}", fix="`foreslice models list` names them all"
            )
        return f"{name}/{version}"

    def _check_name(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise InputError(
                "is no name of a model", where=repr(name), fix="use lower-case letters, digits and '-'"
            )


def _refused(name: str, version: str, error: ValueError) -> InputError:
    return InputError(str(error), where=f"{name}/{version}", fix="it is not used; what serves stays")
