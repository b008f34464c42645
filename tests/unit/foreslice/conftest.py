"""What tests of the service share."""

import pytest


@pytest.fixture
def write(tmp_path):
    """A function that writes a settings file and returns its path."""

    def write(text):
        path = tmp_path / "settings.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write
