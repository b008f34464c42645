import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LOCKS = (
    "requirements.lock",
    "requirements-build.lock",
    "requirements-dev.lock",
    "requirements-notebooks.lock",
    "requirements-audit.lock",
)


def pins(text):
    """Versions locked for each distribution: more than one where Python versions or platforms differ."""
    found = {}
    for name, version in re.findall(r"^([\w.-]+)==([\w.!+]+)", text, re.MULTILINE):
        found.setdefault(canonicalize_name(name), set()).add(version)
    return found


@pytest.fixture(scope="module")
def locked(root):
    return {lock: pins((root / lock).read_text()) for lock in LOCKS}


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("requirements.lock", lambda project: project["project"]["dependencies"]),
        ("requirements-build.lock", lambda project: project["build-system"]["requires"]),
        ("requirements-build.lock", lambda project: project["dependency-groups"]["build"]),
        ("requirements-dev.lock", lambda project: project["dependency-groups"]["dev"]),
        (
            "requirements-notebooks.lock",
            lambda project: project["project"]["optional-dependencies"]["notebooks"],
        ),
        ("requirements-audit.lock", lambda project: project["dependency-groups"]["audit"]),
    ],
    ids=["runtime", "build backend", "build", "dev", "notebooks", "audit"],
)
def test_what_pyproject_asks_for_is_locked_at_a_version_that_it_allows(project, locked, lock, wanted):
    requirements = [Requirement(text) for text in wanted(project)]

    assert [] == [
        str(requirement)
        for requirement in requirements
        if not (versions := locked[lock].get(canonicalize_name(requirement.name)))
        or not all(requirement.specifier.contains(version) for version in versions)
    ]


def test_locks_agree_on_what_they_share(locked):
    runtime = locked["requirements.lock"]

    for lock in LOCKS[1:]:
        shared = runtime.keys() & locked[lock].keys()
        assert {name: runtime[name] for name in shared} == {name: locked[lock][name] for name in shared}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_has_a_hash_and_no_place_to_fetch_it_from(root, lock):
    text = (root / lock).read_text()
    entries = re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:]

    assert [] == [entry for entry in entries if "--hash=sha256:" not in entry]
    assert "://" not in text
    assert not re.search(r"^\s*--(?!hash=)", text, re.MULTILINE)
