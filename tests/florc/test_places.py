"""Where workers run, without Ray: what `--on` names, what a node is told and finds, what is asked of it."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from florc import __version__
from florc.errors import FlorcError
from florc.spread import ray_node
from florc.spread.apart import own_output
from florc.spread.on_ray import Cluster, Needs, command
from florc.spread.ray_node import Node
from florc.spread.where import Where
from tests.florc.running import environment, florc, lay


@pytest.mark.parametrize(
    ("text", "kind", "address"),
    [
        ("local", "local", ""),
        ("ray", "ray", ""),
        ("ray:local", "ray", "local"),
        ("ray:auto", "ray", "auto"),
        ("ray:10.0.0.1:6379", "ray", "10.0.0.1:6379"),
        ("ray:[::1]:6379", "ray", "[::1]:6379"),
        ("ray://head:10001", "ray", "ray://head:10001"),
    ],
)
def test_places_have_names(text, kind, address):
    assert Where.parse(text) == Where(kind, address)


@pytest.mark.parametrize("text", ["", "Ray", "ray:", "ray://", "ray:head", "ray:head:", "dask", "local:2"])
def test_other_names_are_none(text):
    with pytest.raises(ValueError, match="names no place"):
        Where.parse(text)


@pytest.mark.parametrize(
    ("original", "arguments", "options", "words"),
    [
        (["python", "-m", "florc", "x", "a.py"], ["__main__.py", "x", "a.py"], [], ["x", "a.py"]),
        (["python", "/venv/bin/florc", "replay"], ["/venv/bin/florc", "replay"], [], ["replay"]),
        (["python", "-X", "dev", "-m", "florc", "x"], ["__main__.py", "x"], ["-X", "dev"], ["x"]),
    ],
)
def test_a_node_gets_the_same_command(original, arguments, options, words):
    assert command(original, arguments) == (options, words)


@pytest.mark.parametrize(
    ("cpus", "gpus", "resources", "room"),
    [
        (1, 0, {"CPU": 4.0}, 4),
        (1, 0, {"CPU": 0.5}, 0),
        (0.1, 0, {"CPU": 0.3}, 3),
        (2, 1, {"CPU": 16.0, "GPU": 4.0}, 4),
        (1, 0.5, {"CPU": 3.0, "GPU": 4.0}, 3),
        (1, 1, {"CPU": 8.0}, 0),
        (0, 0, {"CPU": 8.0}, 8),
        (0, 0, {}, 1),
    ],
)
def test_a_node_has_room_for_as_many_as_its_resources_allow(cpus, gpus, resources, room):
    assert Needs(cpus, gpus).room_in(resources) == room


class NoRay:
    """As much of Ray as a cluster of one small node shows."""

    cloudpickle = SimpleNamespace(register_pickle_by_value=lambda module: None)

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "NodeID": "a", "Resources": {"CPU": 2.0}}]


def test_a_ray_of_its_own_that_has_no_room_is_refused(capfd):
    with pytest.raises(FlorcError, match="has 1 CPUs and 1 GPUs for a worker") as refused:
        Cluster(NoRay(), {}, Needs(1, 1), "", own=True)
    assert refused.value.exit_code == 69
    Cluster(NoRay(), {}, Needs(1, 1), "", own=False)
    assert "waiting for one" in capfd.readouterr().err, "a cluster may grow"


def test_a_cluster_is_filled():
    assert Cluster(NoRay(), {}, Needs(1, 0), "", own=True).slots() == 2
    assert Cluster(NoRay(), {}, Needs(0.5, 0), "", own=True).slots() == 4


def test_what_a_library_prints_does_not_get_into_the_output(capfd):
    with own_output() as out:
        print("from Python")
        os.write(1, b"from C\n")
        out.write(b"the program's\n")
    print("after")
    seen = capfd.readouterr()
    assert seen.out == "the program's\nafter\n"
    assert "from Python" in seen.err and "from C" in seen.err


def order(at: Path, **changes: Any) -> dict[str, Any]:
    """What the master tells a node."""
    told = {
        "options": [],
        "words": ["--version"],
        "folder": str(at),
        "script": "",
        "host": platform.node(),
        "version": __version__,
        "environment": environment(),
        "variable": "FLORC_REPLAY_SHARE",
        "share": {"run": "r"},
        "prefix": "florc-test-",
        "gpus": False,
    }
    return {**told, **changes}


def test_a_node_tells_all_that_a_worker_writes_and_how_it_ends(tmp_path):
    node, out, code = Node(), b"", None
    assert node.begin(order(tmp_path))[2] == ""
    folder = Path(node._folder)
    while code is None:
        more, _, code, summary = node.more(len(out), 0)
        out += more
    assert (out, code, summary) == (f"florc {__version__}\n".encode(), 0, b"")
    node.stop()
    assert not folder.exists()


def test_a_long_text_is_told_in_pieces(tmp_path):
    node, out, code = Node(), b"", None
    lay(tmp_path, {"sitecustomize.py": "import sys\nif 'replay' in sys.argv: print('x' * 300_000)"})
    env = environment(PYTHONPATH=f"{tmp_path}:{environment()['PYTHONPATH']}")
    assert node.begin(order(tmp_path, words=["replay", "--help"], environment=env))[2] == ""
    while code is None:
        more, _, code, _ = node.more(len(out), 0)
        assert len(more) <= ray_node.CHUNK
        out += more
    assert out.startswith(b"x" * 300_000 + b"\n")
    node.stop()


def test_a_worker_that_is_stopped_ends_with_what_it_has_started(tmp_path):
    sleeper = "import subprocess, sys\nif 'replay' in sys.argv: subprocess.run(['sleep', '60'])"
    lay(tmp_path, {"sitecustomize.py": sleeper})
    env = environment(PYTHONPATH=f"{tmp_path}:{environment()['PYTHONPATH']}")
    node = Node()
    node.begin(order(tmp_path, words=["replay"], environment=env))
    assert node._process is not None
    group = node._process.pid
    end = time.monotonic() + 60
    while len(members(group)) < 2 and time.monotonic() < end:
        time.sleep(0.02)
    node.stop()
    assert members(group) == []


def members(group: int) -> list[int]:
    """The living processes of a group."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == group and fields[0] != "Z":
                found.append(int(entry.name))
    return found


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"folder": "/no/such/folder"}, "does not see the folder /no/such/folder"),
        ({"script": "gone.py"}, "gone.py: it must be shared"),
        ({"version": "99.0"}, f"has florc {__version__}, not 99.0"),
        ({"environment": {"PATH": os.environ["PATH"]}}, "cannot import florc (SyntaxError"),
    ],
)
def test_a_node_says_what_it_lacks(tmp_path, changes, words):
    lay(tmp_path, {"broken/florc/__init__.py": "this is no Python"})
    if "environment" in changes:
        changes = {"environment": {**changes["environment"], "PYTHONPATH": str(tmp_path / "broken")}}
    _, host, why = Node().begin(order(tmp_path, **changes))
    assert why.startswith(f"the node {host} ") and words in why


def test_another_machine_has_its_own_folders_and_the_master_the_rest(monkeypatch):
    monkeypatch.setenv("HOME", "/home/node")
    monkeypatch.setenv("OMP_NUM_THREADS", "64")  # as Ray sets it
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    master = {"HOME": "/home/master", "DATA": "/data", "TMPDIR": "/t", "CUDA_VISIBLE_DEVICES": "0,1"}
    told = order(Path(), host="elsewhere", environment=master)
    found = ray_node.surroundings(told, "here")
    assert (found["HOME"], found["DATA"], found["CUDA_VISIBLE_DEVICES"]) == ("/home/node", "/data", "0,1")
    assert "OMP_NUM_THREADS" not in found and found.get("TMPDIR") == os.environ.get("TMPDIR")
    assert ray_node.surroundings({**told, "gpus": True}, "here")["CUDA_VISIBLE_DEVICES"] == "3"
    assert ray_node.surroundings(told, "elsewhere") == master


def test_a_share_says_who_its_parent_is(tmp_path):
    lay(tmp_path, {"sitecustomize.py": "import os\nopen('share', 'w').write(os.environ.get('SHARE', ''))"})
    env = environment(PYTHONPATH=f"{tmp_path}:{environment()['PYTHONPATH']}")
    node = Node()
    node.begin(order(tmp_path, environment=env, variable="SHARE"))
    while node.more(100, 0)[2] is None:
        pass
    share = json.loads((tmp_path / "share").read_text())
    assert share["parent"] == os.getpid() and share["run"] == "r"
    assert share["summary"].startswith(node._folder)
    node.stop()


def test_without_ray_one_line_says_how_to_get_it(tmp_path):
    lay(tmp_path, {"train.py": "for i in range(3):\n    print(i)\n"})
    florc(tmp_path, "record", "train.py")
    lay(tmp_path, {"hidden/sitecustomize.py": "import sys\nsys.modules['ray'] = None"})
    env = environment(PYTHONPATH=f"{tmp_path / 'hidden'}:{environment()['PYTHONPATH']}")
    done = florc(tmp_path, "replay", "--on", "ray", "train.py", env=env)
    assert (done.code, done.out) == (2, "")
    assert "pip install 'florc[ray]'" in done.err and len(done.err.splitlines()) == 1


def test_a_replay_here_does_not_import_ray(tmp_path):
    lay(tmp_path, {"train.py": "for i in range(3):\n    print(i)\n"})
    florc(tmp_path, "record", "train.py")
    lay(tmp_path, {"hidden/sitecustomize.py": "import sys\nsys.modules['ray'] = None"})
    env = environment(PYTHONPATH=f"{tmp_path / 'hidden'}:{environment()['PYTHONPATH']}")
    assert florc(tmp_path, "replay", "--workers", "2", "train.py", env=env).out == "0\n1\n2\n"
    assert sys.modules.get("ray") is None
