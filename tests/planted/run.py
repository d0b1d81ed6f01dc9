#!/usr/bin/env python3
"""Plants each fault of faults.toml in a copy of the source, one at a time, and runs the tests that must find it.

    tests/planted/run.py [--of COMMIT] [--only TEXT]

Prints a table: each fault, and which test found it. With --of the faults are planted in an older commit. The copy and what is built of it
stay in target/planted, so that the next run builds less. Ends with 1 if a fault was not found.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAULTS = tomllib.loads((ROOT / 'tests/planted/faults.toml').read_text())['fault']
FAILED = re.compile(r'^test (\S+) \.\.\. FAILED|^FAILED (\S.*)$', re.M)
TOO_LONG = 900


def copy_of(commit):
    """A work tree of the commit."""
    folder = ROOT / 'target' / 'planted' / commit
    if not folder.exists():
        subprocess.run(['git', 'worktree', 'add', '--quiet', '--detach', folder, commit], cwd=ROOT, check=True)
    subprocess.run(['git', 'checkout', '--quiet', '--', '.'], cwd=folder, check=True)
    return folder


def commands(by):
    part, *names = by.split()
    cargo = ['cargo', 'test', '--locked', '--quiet']
    if part == 'web':
        return [['tests/web/run.sh', *(f'tests/web/{name}' for name in names)]]
    return [[*cargo, '--lib' if part == 'lib' else '--test=service', '--', *names]]


def found_by(folder, fault):
    """The first test that fails; an empty text if none does."""
    environment = os.environ | {
        'CARGO_TARGET_DIR': str(folder / 'target'),
        'INTRAY_BIN': str(folder / 'target/debug/intray'),
        'PATH': f"{ROOT / '.engine'}:{os.environ['PATH']}",
    }
    for command in commands(fault['by']):
        ended = subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TOO_LONG
        )
        output = ended.stdout + ended.stderr
        if ended.returncode == 0:
            continue
        failed = FAILED.search(output)
        if not failed:
            sys.exit(f"{fault['what']}: no test ran\n{output[-2000:]}")
        return next(filter(None, failed.groups()))
    return ''


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--of', default='HEAD')
    parser.add_argument('--only', default='')
    asked = parser.parse_args()
    commit = subprocess.run(
        ['git', 'rev-parse', '--short=12', asked.of], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()
    folder, missed = copy_of(commit), 0
    print(f'Faults planted in {commit}\n\n| fault | in | found by |\n|---|---|---|')
    for fault in (fault for fault in FAULTS if asked.only in fault['what'] + fault['file']):
        file = folder / fault['file']
        text = file.read_text()
        if text.count(fault['from']) != 1:
            sys.exit(f"{fault['file']} has the text of {fault['what']!r} {text.count(fault['from'])} times")
        file.write_text(text.replace(fault['from'], fault['to']))
        try:
            test = found_by(folder, fault)
        finally:
            file.write_text(text)
        missed += not test
        print(f"| {fault['what']} | `{fault['file']}` | {f'`{test}`' if test else 'NOTHING'} |", flush=True)
    sys.exit(1 if missed else 0)


if __name__ == '__main__':
    main()
