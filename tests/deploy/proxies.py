"""Caddy and nginx with the files as they are, in front of instances that are set as the files say."""

import os
import pathlib
import shutil

import in_front
from compose import Compose
from http_calls import Site
from places import DEPLOY, run, say, until

NGINX = """
pid {work}/nginx.pid;
error_log stderr;
user {user};
events {{}}
http {{
    access_log off;
    client_body_temp_path {work}; proxy_temp_path {work}; fastcgi_temp_path {work}; uwsgi_temp_path {work}; scgi_temp_path {work};
    include /etc/nginx/conf.d/*.conf;
}}
"""
INTRAY = os.environ.get("INTRAY_BIN", "intray")
NAME = "queue.example"


def check():
    run("caddy", "validate", "--config", DEPLOY / "Caddyfile", "--adapter", "caddyfile",
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"})
    formatted = run("caddy", "fmt", DEPLOY / "Caddyfile")
    assert formatted == (DEPLOY / "Caddyfile").read_text(), "caddy fmt would write the Caddyfile otherwise"
    say("Caddyfile: valid")


def uses(compose, what):
    """Through Caddy, as a page on this machine, and as Prometheus."""
    site = Site((compose.address("caddy"), 7070), "localhost:7070")
    until("Caddy serves", site.is_ready)
    instances = [Site((compose.address(name), 7070), f"{name}:7070") for name in ("intray-1", "intray-2")]
    in_front.works(site, instances, what)
    status, _ = Site((compose.address("caddy"), 7070), "evil.example").call("GET", "/queues")
    assert status == 421, f"a foreign host name is answered with {status}"
    for instance, name in zip(instances, ("intray-1", "intray-2")):
        assert "intray_jobs" in instance.ok("GET", "/metrics")
        compose.stage.has_no_warning(name)


def by_compose(stage):
    compose = Compose(stage, "compose.yaml")
    compose.up()
    uses(compose, "compose.yaml, by Caddy")


def by_compose_with_keys(stage):
    folder = pathlib.Path("/etc/intray")
    folder.mkdir(parents=True, exist_ok=True)
    key, line = run(INTRAY, "key", "ops", "operator").split("\n")[:2]
    for name, text in (("keys", line), ("token-secret", "0123456789abcdef" * 4)):
        (folder / name).write_text(text + "\n")
        (folder / name).chmod(0o440)
    compose = Compose(stage, "compose.yaml", "compose.keys.yaml")
    caddy = compose.services["caddy"]
    assert caddy["environment"]["INTRAY_SITE"] == NAME and {"80:80", "443:443"} <= set(caddy["ports"])
    # No authority certifies the name here.
    caddy["environment"]["INTRAY_SITE"] = "http://:7070"
    for name in ("prometheus", "grafana"):
        del compose.services[name]
    compose.up()
    for name in ("intray-1", "intray-2"):
        stage.has_no_warning(name)
    # Without INTRAY_NAME, as the files are read here, this is the name that the instances know.
    site = Site((compose.address("caddy"), 7070), "localhost")
    until("Caddy serves", site.is_ready)
    assert site.call("GET", "/queues")[0] == 401
    site.headers["Authorization"] = f"Bearer {key}"
    site.ok("GET", "/queues")
    say("compose.keys.yaml: callers without a key are refused, and those with one are served")


def by_cluster(stage):
    compose = Compose(stage, "compose.cluster.yaml")
    compose.up()
    uses(compose, "compose.cluster.yaml, by Caddy")


def instance(stage, **env):
    """One on this machine, with a private server, as nginx and Caddy look for it."""
    settings = {"INTRAY_DATA_DIR": str(stage.work / "data" / "private"), "INTRAY_TRUSTED_PROXY": "127.0.0.1", **env}
    stage.start("intray", [INTRAY, "serve"], settings)
    site = Site(("127.0.0.1", 7070), "localhost:7070")
    until("intray serves", site.is_ready)
    return site


def by_nginx(stage):
    backend = instance(stage, INTRAY_ALLOWED_HOST=NAME)
    for folder in ("nginx/conf.d", "intray"):
        pathlib.Path("/etc", folder).mkdir(parents=True, exist_ok=True)
    shutil.copy(DEPLOY / "nginx.conf", "/etc/nginx/conf.d/intray.conf")
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
        "-subj", f"/CN={NAME}", "-keyout", "/etc/intray/tls.key", "-out", "/etc/intray/tls.crt")
    whole = stage.work / "nginx.conf"
    user = "root" if os.getuid() == 0 else "nobody"
    whole.write_text(NGINX.format(work=stage.work, user=user))
    run("nginx", "-t", "-c", whole)
    stage.start("nginx", ["nginx", "-c", whole, "-g", "daemon off;"], {})
    site = Site(("127.0.0.1", 443), NAME, tls=True)
    until("nginx serves", site.is_ready)
    in_front.works(site, [backend], "nginx.conf")
    in_front.lines_are_answered_as_they_come(site, "nginx.conf")
    assert Site(("127.0.0.1", 80), NAME).call("GET", "/queues")[0] == 308


def by_caddy(stage):
    backend = instance(stage)
    command = ["caddy", "run", "--config", DEPLOY / "Caddyfile", "--adapter", "caddyfile"]
    stage.start("caddy", command, {"HOME": str(stage.work / "data")})
    site = Site(("127.0.0.1", 8443), "localhost:8443", tls=True)
    until("Caddy serves", site.is_ready)
    in_front.works(site, [backend], "Caddyfile, by TLS")
