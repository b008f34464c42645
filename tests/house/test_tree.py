import pytest

# In pieces, so that this file does not name them.
REGISTRY_HOSTS = [
    ".".join(pieces)
    for pieces in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("proxy", "golang", "org"),
        ("sum", "golang", "org"),
        ("crates", "io"),
        ("maven", "org"),
        ("maven", "apache", "org"),
        ("deb", "debian", "org"),
    )
]
HARD_CEILING_LINES = 400


@pytest.mark.parametrize("host", REGISTRY_HOSTS)
def test_no_file_names_a_registry_host(root, tracked, host):
    needle = host.encode()

    assert [] == [str(path) for path in tracked if needle in (root / path).read_bytes().lower()]


def test_no_module_is_over_the_ceiling(root, tracked):
    modules = [path for path in tracked if path.suffix == ".py"]

    assert {} == {
        str(path): lines
        for path in modules
        if (lines := len((root / path).read_text().splitlines())) > HARD_CEILING_LINES
    }


def test_every_make_target_is_explained(root):
    rules = (root / "Makefile").read_text().splitlines()
    phony = {rule.removeprefix(".PHONY: ") for rule in rules if rule.startswith(".PHONY: ")}
    explained = {rule.split(":")[0] for rule in rules if " ## " in rule}

    assert phony == explained
