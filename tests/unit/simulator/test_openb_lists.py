"""openb's CSV lists, read."""

import gzip

import pytest

from allocator.shares.hosts import Host
from allocator.shares.mix import Ask
from fleet.errors import InputError
from simulator.openb.lists import read_hosts, read_pods

HOSTS = "sn,cpu_milli,memory_mib,gpu,model\na,96000,393216,8,G2\nb,32000,1024,0,\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\n"
    "p0,12000,16384,1,1000,,LS\np1,6000,12288,1,460,T4|P100,LS\np2,8000,1024,0,0,,BE\n"
)


@pytest.fixture
def file(tmp_path):
    def write(text, name="list.csv"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write


@pytest.mark.parametrize("name", ["list.csv", "list.csv.gz"])
def test_hosts_are_read_plain_and_gzipped(file, name):
    assert (Host(8, "G2", 96000, 393216), Host(0, "", 32000, 1024)) == read_hosts(file(HOSTS, name))


def test_pods_are_read_with_the_models_that_they_may_run_on(file):
    assert (
        Ask(1, 1000, 12000, 16384),
        Ask(1, 460, 6000, 12288, frozenset({"T4", "P100"})),
        Ask(0, 0, 8000, 1024),
    ) == read_pods(file(PODS))


def test_a_list_without_models_lets_pods_run_on_any(file):
    assert (Ask(1, 5, 1, 2),) == read_pods(file("cpu_milli,memory_mib,num_gpu,gpu_milli\n1,2,1,5\n"))


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (
            read_hosts,
            PODS,
            "list.csv: column gpu is missing; columns cpu_milli, memory_mib, gpu, model are needed",
        ),
        (read_pods, HOSTS, "column num_gpu is missing"),
        (read_hosts, HOSTS.replace("96000", "many"), "column cpu_milli is not all whole numbers"),
        (read_hosts, HOSTS.replace(",8,", ",0,"), "no host has a card"),
        (read_pods, PODS.replace(",1,1000", ",0,0").replace(",1,460", ",0,0"), "no pod asks for a card"),
        (read_pods, PODS.replace("1,460", "2,460"), "line 3: a pod asks for 2 cards of 460 thousandths"),
        (read_pods, PODS.replace("1,460", "1,1001"), "line 3: a pod asks for 1 cards of 1001 thousandths"),
        (read_pods, PODS.replace("1,460", "1,0"), "line 3: a pod asks for 1 cards of 0 thousandths"),
        (read_pods, PODS.replace("1,460", "-1,460"), "line 3: a pod asks for -1 cards"),
        (read_pods, PODS.replace("0,0,,BE", "0,7,,BE"), "line 4: a pod asks for 0 cards of 7 thousandths"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused_by_name(file, read, text, said):
    with pytest.raises(InputError, match=said.replace("|", r"\|")):
        read(file(text))


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b""])
def test_what_is_no_csv_is_refused(tmp_path, content):
    (tmp_path / "x.csv").write_bytes(content)

    with pytest.raises(InputError, match="cannot be read"):
        read_hosts(tmp_path / "x.csv")


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_pods(tmp_path / "nothing.csv")
