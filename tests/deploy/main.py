"""Holds the files of deploy/ against the tools that they are for, then starts what they say and uses it."""

import faulthandler
import sys

import compose
import kubernetes
import proxies
import units
import watch
from places import say
from stage import Stage

CHECKS = [compose.check, kubernetes.check, proxies.check, units.check, watch.check]
STORIES = [proxies.by_compose, proxies.by_compose_with_keys, proxies.by_cluster, proxies.by_nginx, proxies.by_caddy, kubernetes.story, units.story, watch.story]


# Longer than all of it takes.
PATIENCE = 300


def main():
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    wanted = sys.argv[1:]
    stage = Stage()
    for part in CHECKS + STORIES:
        name = f"{part.__module__}.{part.__name__}"
        if wanted and name not in wanted:
            continue
        if part in CHECKS:
            part()
            continue
        try:
            part(stage)
        except BaseException:
            for log in stage.work.glob("*.log"):
                print(f"--- {log.name}\n{log.read_text(errors='replace')[-1500:]}", file=sys.stderr)
            raise
        finally:
            stage.strike()
    say("all is well")


main()
