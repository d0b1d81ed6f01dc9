"""The manifests: rendered by kustomize, held against the schemas, and each container run as its pod would be."""

import http.client
import os
import pathlib

import kubernetes_validate
import yaml

from http_calls import Site
from places import DEPLOY, ROOT, run, say, until

# The oldest and the newest that the package knows and that are not long gone.
VERSIONS = ["1.31", "1.37"]
INTRAY = os.environ.get("INTRAY_BIN", "intray")


def rendered():
    return list(yaml.safe_load_all(run("kubectl", "kustomize", DEPLOY / "kubernetes")))


def one(kind, name):
    return next(it for it in rendered() if it["kind"] == kind and it["metadata"]["name"] == name)


def check():
    things = rendered()
    for thing in things:
        for version in VERSIONS:
            kubernetes_validate.validate(thing, version, strict=True)
    pods = [it["spec"]["template"] for it in things if it["kind"] in ("Deployment", "StatefulSet")]
    for pod in pods:
        is_confined(pod["spec"])
    labels = [pod["metadata"]["labels"] for pod in pods]
    for thing in things:
        for selector in selectors(thing):
            assert any(selector.items() <= own.items() for own in labels), f"{thing['kind']} selects nobody: {selector}"
    optional(things)
    say(f"kubernetes: {len(things)} objects, as {' and '.join(VERSIONS)} have them")


def optional(things):
    """The files beside the kustomization fit to what it makes."""
    files = [yaml.safe_load(path.read_text()) for path in sorted((DEPLOY / "kubernetes" / "optional").glob("*.yaml"))]
    ingress, monitor = sorted(files, key=lambda thing: thing["kind"])
    assert (ingress["kind"], monitor["kind"]) == ("Ingress", "ServiceMonitor")
    for version in VERSIONS:
        kubernetes_validate.validate(ingress, version, strict=True)
    services = {it["metadata"]["name"]: it for it in things if it["kind"] == "Service"}
    ports = {name: {port["name"] for port in it["spec"]["ports"]} for name, it in services.items()}
    rules = ingress["spec"]["rules"]
    for path in [path for rule in rules for path in rule["http"]["paths"]]:
        backend = path["backend"]["service"]
        assert backend["port"]["name"] in ports[backend["name"]], f"the ingress names no port of {backend['name']}"
    hosts = {rule["host"] for rule in rules}
    assert hosts == {host for entry in ingress["spec"]["tls"] for host in entry["hosts"]}, "a host without TLS"
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    found = [name for name, it in services.items() if wanted <= it["metadata"].get("labels", {}).items()]
    assert found == ["intray"], f"the monitor finds {found}"
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["port"] in ports["intray"] and endpoint["path"] == "/metrics"
    secret = endpoint["authorization"]["credentials"]
    made = f"create secret generic {secret['name']} --from-literal={secret['key']}="
    assert made in (ROOT / "docs" / "deploy.md").read_text(), f"docs/deploy.md does not say: {made}"


def selectors(thing):
    spec = thing.get("spec", {})
    found = spec.get("podSelector") or spec.get("selector") or {}
    return [found.get("matchLabels", found)] if found else []


def is_confined(pod):
    """What `pod-security.kubernetes.io/enforce: restricted` asks, and a root that cannot be written."""
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
    for container in pod["containers"]:
        own = container["securityContext"]
        assert own["readOnlyRootFilesystem"] and not own["allowPrivilegeEscalation"]
        assert own["capabilities"]["drop"] == ["ALL"]
        assert container.get("readinessProbe") and container.get("livenessProbe"), container["name"]


def secrets():
    """As docs/deploy.md says to make them. Answers the operator's key."""
    folders = {name: pathlib.Path("/etc", name) for name in ("intray", "valkey")}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    key, line = run(INTRAY, "key", "prometheus", "viewer").split("\n")[:2]
    files = {
        folders["intray"] / "keys": line + "\n",
        folders["intray"] / "token-secret": "0123456789abcdef" * 4 + "\n",
        folders["intray"] / "redis-url": "redis://:secret@valkey:6379\n",
        folders["valkey"] / "auth.conf": "requirepass secret\n",
    }
    for path, text in files.items():
        path.write_text(text)
        path.chmod(0o440)
    return key


def probe(address, container, which):
    """As the kubelet asks: by address, without a key."""
    asked = container[which].get("httpGet") or container[which]["tcpSocket"]
    port = next(it["containerPort"] for it in container["ports"] if it["name"] == asked["port"])
    site = Site((address, port), f"{address}:{port}")
    try:
        if "path" not in asked:
            site.open().close()
            return True
        return site.call("GET", asked["path"])[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def start(stage, name, container, entry, host):
    argv = [str(part) for part in container.get("command", entry) + container["args"]]
    folder = stage.work / "data" / host
    argv = [str(folder) if part == "/data" else part for part in argv]
    env = {it["name"]: it["value"] for it in container.get("env", [])}
    stage.start(name, argv, env, read_only=True, host=host)


def story(stage):
    key = secrets()
    stage.network("10.1.0.1/24")
    for number, name in enumerate(["valkey", "pod-1", "pod-2"]):
        stage.host(name, f"10.1.0.{10 + number}")
    valkey = one("StatefulSet", "valkey")["spec"]["template"]["spec"]["containers"][0]
    deployment = one("Deployment", "intray")["spec"]
    container = deployment["template"]["spec"]["containers"][0]
    start(stage, "valkey", valkey, [], "valkey")
    # A pod that comes first ends and is started again; here nobody does that.
    until("valkey passes its probe", lambda: probe(stage.names["valkey"], valkey, "readinessProbe"))
    for number in range(deployment["replicas"]):
        name = f"pod-{number + 1}"
        start(stage, name, container, [INTRAY], name)
        for which in ("startupProbe", "readinessProbe", "livenessProbe"):
            until(f"{name} passes its {which}", lambda: probe(stage.names[name], container, which))
        stage.has_no_warning(name)
        by_address = Site((stage.names[name], 7070), f"{stage.names[name]}:7070")
        assert by_address.call("GET", "/metrics")[0] == 401
        by_address.headers["Authorization"] = f"Bearer {key}"
        assert "intray_redis_connections" in by_address.ok("GET", "/metrics")
    say("kubernetes: the containers serve with what the manifests say; probes and a scrape with a key are answered with 200")
