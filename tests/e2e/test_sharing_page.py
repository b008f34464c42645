"""`foreslice sharing --out` leaves a page that needs nothing else."""

import json
import subprocess
import sys
from pathlib import Path

FORESLICE = Path(sys.executable).with_name("foreslice")
SCRAPED = Path(__file__).parents[1] / "data" / "cases" / "dcgm-mig.prom"


def test_the_page_holds_all_that_it_needs(tmp_path):
    out = tmp_path / "page.html"
    ran = subprocess.run(
        [FORESLICE, "sharing", "--metrics", SCRAPED, "--out", out, "--output", "json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (0, "") == (ran.returncode, ran.stderr)
    assert 2 == len(json.loads(ran.stdout)["cards"])
    page = out.read_text()
    assert 'src="http' not in page
    for said in ("Who shares which card", "in use, the whole card", "llm/chat-mig-0", "37.7 GiB", "plotly"):
        assert said in page
