"""Where the binaries of the real control plane and of Helm are; built once for each state of their modules.

`python -m tests.controlplane.build` builds what is missing and prints the folders. It needs nothing but Go.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
PROGRESS_EVERY_S = 15


@dataclass(frozen=True, slots=True)
class Module:
    """A Go module with its own versions, because the tools of one must not choose those of another.

    Attributes:
        name: Folder of its go.mod and go.sum.
        mains: Package by binary.
        versioned: Package of which the binaries must know the version.
        variables: What is set to that version.
    """

    name: str
    mains: dict[str, str]
    versioned: str = ""
    variables: tuple[str, ...] = ()

    @property
    def home(self):
        """The module's folder."""
        return HERE / self.name

    def flags(self):
        """Return what goes to the compiler and the linker."""
        required = re.search(rf"^\s{self.versioned} (v\S+)", (self.home / "go.mod").read_text(), re.MULTILINE)
        linked = ["-s -w", *(f"-X {variable}={required[1]}" for variable in self.variables)]
        return ["-trimpath", "-buildvcs=false", "-ldflags", " ".join(linked)]


@dataclass(frozen=True, slots=True)
class Kit:
    """Binaries that are kept in one folder, and built anew when one of their modules has changed.

    Attributes:
        name: Folder in the cache.
        modules: What they are built from.
        given: Variable of the environment that names a folder that has them already.
    """

    name: str
    modules: tuple[Module, ...]
    given: str

    @property
    def binaries(self):
        """Names of the binaries."""
        return tuple(binary for module in self.modules for binary in module.mains)

    def folder(self, environ=os.environ):
        """Return where the binaries are, or will be: the folder that was given, else the cache."""
        if named := environ.get(self.given):
            return Path(named)
        cache = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return cache / "foreslice" / self.name / self._key()

    def missing(self, environ=os.environ):
        """Return which binaries are not there."""
        return [name for name in self.binaries if not os.access(self.folder(environ) / name, os.X_OK)]

    def _key(self):
        digest = hashlib.sha256()
        for module in self.modules:
            digest.update(repr(module).encode())
            for file in ("go.mod", "go.sum"):
                digest.update((module.home / file).read_bytes())
        return digest.hexdigest()[:16]


CONTROL_PLANE = Kit(
    "controlplane",
    (
        Module("etcd", {"etcd": "go.etcd.io/etcd/server/v3"}),
        Module(
            "kubernetes",
            {
                name: f"k8s.io/kubernetes/cmd/{name}"
                for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
            },
            versioned="k8s.io/kubernetes",
            variables=("k8s.io/component-base/version.gitVersion", "k8s.io/client-go/pkg/version.gitVersion"),
        ),
        Module("kwok", {"kwok": "sigs.k8s.io/kwok/cmd/kwok"}),
    ),
    given="KUBEBUILDER_ASSETS",
)
HELM = Kit("helm", (Module("helm", {"helm": "helm.sh/helm/v4/cmd/helm"}),), given="HELM_ASSETS")
KITS = {kit.name: kit for kit in (CONTROL_PLANE, HELM)}


def build(kit):
    """Build all of a kit; its folder appears only when it is complete."""
    target = kit.folder()
    go = shutil.which("go")
    if go is None:
        raise SystemExit(
            f"{kit.name}: go is not on the PATH; install Go 1.26 or newer, or name in {kit.given} a "
            f"folder with {', '.join(kit.binaries)}"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        dir=target.parent, prefix="building-", ignore_cleanup_errors=True
    ) as made:
        for module in kit.modules:
            _compile(go, module, Path(made))
        if not target.exists():
            Path(made).rename(target)


def _compile(go, module, into):
    """Run one `go build` for all binaries of a module, which shares the work, and say how far it is."""
    # Go names a single binary after its folder, which for etcd is `server`.
    output = f"{into}/" if len(module.mains) > 1 else into / min(module.mains)
    command = [go, "build", "-v", *module.flags(), "-o", output, *module.mains.values()]
    compiled, start_s, said_s = 0, time.monotonic(), 0.0
    with subprocess.Popen(command, cwd=module.home, stderr=subprocess.PIPE, text=True) as building:
        for line in building.stderr:
            if " " in line:  # anything but the name of a package
                sys.stderr.write(line)
            compiled += 1
            passed_s = time.monotonic() - start_s
            if passed_s - said_s >= PROGRESS_EVERY_S:
                said_s = passed_s
                sys.stderr.write(f"{module.name}: {compiled} packages after {passed_s:.0f} s\n")
    if building.returncode:
        raise SystemExit(f"go build failed in {module.home}")
    sys.stderr.write(f"{module.name}: built in {time.monotonic() - start_s:.0f} s\n")


def main(*names):
    """Build what is not there, of all kits or of those named, and print their folders.

    A folder that is given must be complete.
    """
    for kit in [KITS[name] for name in names or KITS]:
        absent = kit.missing()
        if absent and kit.given in os.environ:
            raise SystemExit(
                f"{kit.name}: {kit.given} is {kit.folder()}, which lacks {', '.join(absent)}; "
                "unset it to build"
            )
        if absent:
            build(kit)
        sys.stdout.write(f"{kit.folder()}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
