"""The unit of systemd: verified, weighed, and its command run with its environment."""

import os
import pathlib
import shutil
import subprocess

from http_calls import Site
from places import DEPLOY, run, say, until

UNIT = DEPLOY / "systemd" / "intray.service"
# Out of ten; what is left is that it may use the network, and system calls.
EXPOSURE = 15


def entries(name):
    lines = UNIT.read_text().splitlines()
    return [line.split("=", 1)[1] for line in lines if line.startswith(f"{name}=")]


def installed():
    """The program where the unit looks for it."""
    path = pathlib.Path(entries("ExecStart")[0].split()[0])
    if not path.exists():
        run("mount", "-t", "tmpfs", "none", path.parent)
        shutil.copy(os.environ["INTRAY_BIN"], path)
    return path


def check():
    installed()
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", UNIT], capture_output=True, text=True)
    # It reports other units of the machine, too.
    own = [line for line in done.stderr.splitlines() if "intray" in line]
    assert done.returncode == 0 and not own, done.stderr
    report = run("systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE}", UNIT)
    say(f"systemd: {report.strip().splitlines()[-1].strip(' →')}")
    run("systemd-sysusers", "--dry-run", DEPLOY / "systemd" / "intray.sysusers")


def story(stage):
    installed()
    folder = stage.work / "data" / "systemd"
    folder.mkdir(parents=True)
    env = dict(pair.split("=", 1) for line in entries("Environment") for pair in line.split())
    env = {name: value.replace("/var/lib/intray", str(folder)) for name, value in env.items()}
    stage.start("systemd", entries("ExecStart")[0].split(), env)
    site = Site(tuple_of(env["INTRAY_LISTEN"]), env["INTRAY_LISTEN"])
    until("the unit's command serves", site.is_ready)
    assert "intray_jobs" in site.ok("GET", "/metrics") or site.ok("POST", "/jobs", {"payload": 1})
    say("systemd: the unit's command serves with the unit's environment; a probe and a scrape are answered with 200")


def tuple_of(address):
    host, port = address.rsplit(":", 1)
    return host, int(port)
