"""A network with a host for each service, as a container engine would make it: what listens on all addresses has its own."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from places import run

# What a host runs, with a root that cannot be written where that is asked for; `work` is a mount of its own.
READ_ONLY = 'mount -o remount,bind,ro / && exec "$@"'

# Redis has so long to answer, that no busy machine fails a test.
PATIENCE = {"INTRAY_REDIS_TIMEOUT_MS": "30000"}
OWN_WARNINGS = ("open files", "nothing guards the service")

class Stage:
    """Needs a network and mounts that are nobody else's."""

    def __init__(self):
        self.work = pathlib.Path(tempfile.mkdtemp())
        run("mount", "-t", "tmpfs", "none", self.work)
        self.processes, self.names = {}, {}
        # Files of /etc are laid where a service looks for them, in a copy that goes with this stage.
        shutil.copytree("/etc", self.work / "etc", symlinks=True, ignore_dangling_symlinks=True)
        run("mount", "--bind", self.work / "etc", "/etc")
        (self.work / "netns").mkdir()
        pathlib.Path("/run/netns").mkdir(parents=True, exist_ok=True)
        run("mount", "--bind", self.work / "netns", "/run/netns")
        run("ip", "link", "set", "lo", "up")

    def network(self, first):
        """`first`: the address of the observer, with the length of the prefix. One network at a time."""
        run("ip", "link", "add", "bridge", "type", "bridge")
        run("ip", "link", "set", "bridge", "up")
        run("ip", "address", "add", first, "dev", "bridge")

    def host(self, name, address, length=24):
        """A host of the network; its name is known to all."""
        link = f"v{len(self.names)}"
        run("ip", "netns", "add", name)
        run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "link", "set", link, "master", "bridge", "up")
        for change in (["link", "set", "lo", "up"], ["address", "add", f"{address}/{length}", "dev", "eth0"],
                       ["link", "set", "eth0", "up"]):
            run("ip", "-n", name, *change)
        self.names[name] = address
        self.know(self.names)

    def know(self, names):
        lines = ["127.0.0.1 localhost", *(f"{address} {name}" for name, address in names.items())]
        pathlib.Path("/etc/hosts").write_text("\n".join(lines) + "\n")

    def start(self, name, argv, env, read_only=False, host=None):
        """Runs a service on its host (`None`: here), with this environment and no other; its log is `NAME.log`."""
        folder = self.work / "data" / name
        folder.mkdir(parents=True, exist_ok=True)
        at = ["ip", "netns", "exec", host] if host else []
        if read_only:
            at += ["sh", "-ec", READ_ONLY, "sh"]
        log = (self.work / f"{name}.log").open("ab")
        self.processes[name] = subprocess.Popen(
            [*at, *map(str, argv)], cwd=folder, env={"PATH": os.environ["PATH"], **PATIENCE, **env},
            stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        return self.processes[name]

    def ask(self, host, argv, env):
        """Whether a command on that host is content."""
        done = subprocess.run(["ip", "netns", "exec", host, *argv], env={"PATH": os.environ["PATH"], **env},
                              capture_output=True)
        return done.returncode == 0

    def log(self, name):
        return (self.work / f"{name}.log").read_text(errors="replace")

    def has_no_warning(self, name):
        """How many files may be open is this machine's affair; that an open service is open is what its file says."""
        lines = self.log(name).splitlines()
        odd = [line for line in lines if "WARN" in line and not any(own in line for own in OWN_WARNINGS)]
        assert not odd, f"{name} warns: {odd}"

    def stop(self, name):
        process = self.processes.pop(name)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def strike(self):
        """Ends all that runs, the last first, and takes the network away."""
        for name in reversed(list(self.processes)):
            self.stop(name)
        for name in self.names:
            run("ip", "netns", "delete", name)
        if self.names:
            run("ip", "link", "delete", "bridge")
        self.names = {}
        shutil.rmtree(self.work / "data", ignore_errors=True)
        for log in self.work.glob("*.log"):
            log.unlink()
