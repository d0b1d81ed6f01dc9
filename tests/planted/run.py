#!/usr/bin/env python3
"""Plants each fault of faults.toml in a copy of the source, one at a time, and runs the tests that must find it.

    tests/planted/run.py [--of COMMIT] [--only TEXT]

Prints a table: each fault, and the test that found it. `--of` plants in an older commit those that have a place there. Without a fault the
tests must pass, which is tried first. The copy stays in target/planted with what was built of it, so the next run builds less. Ends with 1
if a fault was not found.
"""
import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAULTS = tomllib.loads((ROOT / 'tests/planted/faults.toml').read_text())['fault']
# As cargo, the browser's stories, their reporter in older commits, and TypeScript say it.
FAILED = re.compile(r'^test (\S+) \.\.\. FAILED|^FAILED (\S.*)$|^\s*✖ (.+?) \(|\b(error TS\d+)', re.M)
TOO_LONG_SECONDS = 1_800


class Copy:
    """The source of a commit, in which faults are planted."""

    def __init__(self, commit):
        self.commit = git('rev-parse', '--short=12', commit)
        self.folder = ROOT / 'target/planted' / self.commit
        if not self.folder.exists():
            git('clone', '--quiet', '--shared', '--no-checkout', ROOT, self.folder)
        git('checkout', '--quiet', '--force', '--detach', self.commit, folder=self.folder)

    def has_place(self, fault):
        file = self.folder / fault['file']
        return file.exists() and file.read_text().count(fault['from']) == 1

    def failing(self, part, names):
        """The first test that fails; `None` if all pass."""
        built = self.folder / 'target'
        environment = os.environ | {
            'CARGO_TARGET_DIR': str(built),
            'INTRAY_BIN': str(built / 'debug/intray'),
            'PATH': f"{ROOT / '.engine'}:{os.environ['PATH']}",
        }
        cargo = ['cargo', 'test', '--locked', '--no-fail-fast']
        words = {
            'lib': [*cargo, '--workspace', '--lib', '--', *names],
            'service': [*cargo, '--workspace', '--test', 'service', '--', *names],
            'web': ['tests/web/run.sh', *names],
        }
        running = subprocess.Popen(
            words[part],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = running.communicate(timeout=TOO_LONG_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            return 'no end'
        if running.returncode == 0:
            return None
        failed = FAILED.search(output)
        if not failed:
            sys.exit(f"{' '.join(words[part])}: it failed, but no test did\n{output[-3000:]}")
        return next(filter(None, failed.groups()))


def git(*words, folder=ROOT):
    return subprocess.run(['git', *words], cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def try_without_faults(copy, faults):
    wanted = {}
    for part, *names in (fault['by'].split() for fault in faults):
        wanted.setdefault(part, set()).update(names)
    # The stories build the program, which those of the browser start.
    for part in sorted(wanted.keys() | {'service'}):
        failed = copy.failing(part, sorted(wanted.get(part, {'harness::'})))
        if failed:
            sys.exit(f'{failed} fails without a fault')


def plant(copy, fault):
    file = copy.folder / fault['file']
    text = file.read_text()
    part, *names = fault['by'].split()
    file.write_text(text.replace(fault['from'], fault['to']))
    try:
        return copy.failing(part, names)
    finally:
        file.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--of', default='HEAD')
    parser.add_argument('--only', default='')
    asked = parser.parse_args()
    faults = [fault for fault in FAULTS if asked.only in fault['what'] + fault['file']]
    # Those of Rust last: until then the program is the one without a fault, which reads the other files from disk.
    faults.sort(key=lambda fault: fault['file'].endswith('.rs'))
    copy, missed = Copy(asked.of), 0
    # A test of the documents counts them in this commit.
    faults = [fault for fault in faults if copy.has_place(fault)]
    try_without_faults(copy, faults)
    print(f'Faults planted in {copy.commit}\n\n| fault | in | found by |\n|---|---|---|')
    for fault in faults:
        test = plant(copy, fault)
        missed += test is None
        print(f"| {fault['what']} | `{fault['file']}` | {f'`{test}`' if test else 'nothing'} |", flush=True)
    sys.exit(1 if missed else 0)


if __name__ == '__main__':
    main()
