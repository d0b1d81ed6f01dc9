"""Reads compose files, and starts what stands there without a container engine: programs of this machine in place of images."""

import os
import pathlib
import re
import shlex
import shutil

import yaml
from compose_spec import PyOptions

from places import DEPLOY, ROOT, run, say, until

# What an image runs when a service does not say it, and what it runs before what a service says.
ENTRY = {"intray": [os.environ.get("INTRAY_BIN", "intray")], "prom/prometheus": ["prometheus"]}
COMMAND = {"intray": ["serve"], "caddy": ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]}
# What an operator makes, as docs/deploy.md says.
BY_HAND = {"./secrets"}
# There is no Grafana among the packages of Debian, PyPI and npm.
NOT_HERE = {"grafana/grafana"}


def filled(value):
    """`${NAME:-default}` with nothing set, and `$$`."""
    if isinstance(value, str):
        return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value).replace("$$", "$")
    if isinstance(value, dict):
        return {key: filled(inner) for key, inner in value.items()}
    return [filled(inner) for inner in value] if isinstance(value, list) else value


def read(name):
    """A file whose schema is held, with what it takes from others."""
    text = (DEPLOY / name).read_text()
    PyOptions(apply_merge=True).from_yaml(text).validate()
    whole = filled(yaml.safe_load(text))
    for service, body in whole["services"].items():
        if origin := body.pop("extends", None):
            whole["services"][service] = {**read(origin["file"])["services"][origin["service"]], **body}
    return whole


def together(names):
    """Files as `docker compose -f A -f B` reads them: the later ones add to the services of the first, or change them."""
    whole, *others = [read(name) for name in names]
    for service, more in [pair for other in others for pair in other["services"].items()]:
        own = whole["services"][service]
        own["environment"] = {**own.get("environment", {}), **more.get("environment", {})}
        for name in ("volumes", "ports"):
            own[name] = own.get(name, []) + more.get(name, [])
        strange = set(more) - {"environment", "volumes", "ports"}
        assert not strange, f"{service}: this does not know how {strange} are put together"
    return whole


def image_of(service):
    return service["image"].split(":")[0]


def of_image(name):
    """What the Dockerfile sets."""
    if name != "intray":
        return {}
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    pairs = [pair for line in lines if line.startswith("ENV ") for pair in shlex.split(line[4:])]
    return dict(pair.split("=", 1) for pair in pairs)


def needed(service):
    """The services that this one waits for, each with what it waits for."""
    wanted = service.get("depends_on", {})
    return wanted if isinstance(wanted, dict) else dict.fromkeys(wanted, {"condition": "service_started"})


class Compose:
    """The services of a file on a stage."""

    def __init__(self, stage, *names):
        self.stage, self.whole = stage, together(names)
        self.services = self.whole["services"]
        net = self.whole["networks"]["default"]["ipam"]["config"][0]["subnet"]
        self.prefix = net.rsplit(".", 1)[0]
        stage.network(f"{self.prefix}.1/24")
        for number, (service, body) in enumerate(self.services.items()):
            fixed = body.get("networks", {}).get("default", {}).get("ipv4_address")
            stage.host(service, fixed or f"{self.prefix}.{130 + number}")

    def address(self, service):
        return self.stage.names[service]

    def up(self):
        """As `docker compose up`: each when what it waits for is there."""
        started = set()
        while left := [name for name in self.services if name not in started]:
            ready = [name for name in left if set(needed(self.services[name])) <= started]
            for name in ready:
                for other, how in needed(self.services[name]).items():
                    self.wait(other, how["condition"])
                if image_of(self.services[name]) not in NOT_HERE:
                    self.start(name)
                started.add(name)

    def wait(self, name, condition):
        process, test = self.stage.processes.get(name), self.services[name].get("healthcheck", {}).get("test")
        if condition == "service_completed_successfully":
            until(f"{name} has ended", lambda: process.poll() is not None)
            if process.returncode:
                raise SystemExit(f"{name}: {self.stage.log(name)}")
        elif condition == "service_healthy":
            until(f"{name} is well", lambda: self.stage.ask(name, test[1:], {}))

    def start(self, name):
        service, image = self.services[name], image_of(self.services[name])
        command = service.get("command") or COMMAND.get(image, [])
        argv = ENTRY.get(image, []) + (shlex.split(command) if isinstance(command, str) else command)
        folder = self.stage.work / "data" / name
        for volume in service.get("volumes", []):
            source, target = volume.split(":")[:2]
            if source in BY_HAND:
                assert list(pathlib.Path(target).iterdir()), f"{name}: the story makes no files in {target}"
            elif source.startswith("."):
                pathlib.Path(target).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(DEPLOY / source, target)
            else:
                argv = [part.replace(target, str(folder)) if part.endswith(target) else part for part in argv]
        env = {**of_image(image), **{key: str(value) for key, value in service.get("environment", {}).items()}}
        self.stage.start(name, argv, {**env, "HOME": str(folder)}, service.get("read_only", False), host=name)
        if image == "intray":
            # As HEALTHCHECK in the Dockerfile does.
            until(f"{name} is well", lambda: self.stage.ask(name, [*ENTRY["intray"], "healthcheck"], env))


def check():
    for path in sorted(DEPLOY.glob("compose*.yaml")):
        services = read(path.name)["services"]
        for name, service in services.items():
            strange = set(needed(service)) - set(services)
            assert not strange, f"{path.name}: {name} waits for {strange}"
            for volume in service.get("volumes", []):
                source = volume.split(":")[0]
                assert source in BY_HAND or not source.startswith(".") or (DEPLOY / source).exists(), f"{path.name}: {source} is not there"
                assert source.startswith(".") or source in read(path.name)["volumes"], f"{path.name}: no volume {source}"
        say(f"{path.name}: {len(services)} services, as the schema has it")
