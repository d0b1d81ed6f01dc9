"""Where things are, and how something is waited for."""

import pathlib
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


def run(*argv, **more):
    """A tool that must be content; what it says otherwise is what is wrong."""
    done = subprocess.run([str(part) for part in argv], capture_output=True, text=True, **more)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, argv))}\n{done.stdout}{done.stderr}")
    return done.stdout


def until(what, holds, seconds=30):
    """Waits for a condition, and says which one never came."""
    end = time.monotonic() + seconds
    while not (answer := holds()):
        if time.monotonic() > end:
            raise SystemExit(f"never came: {what}")
        time.sleep(0.05)
    return answer


def say(line):
    print(f"deploy: {line}", flush=True)
