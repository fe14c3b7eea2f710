"""Makes the table of JAX's test files out of what jax_conformance.py has printed.

usage: jax_conformance_table.py REASONS LOG...

A file's row is that of the last log that has one, so that files may be run again. REASONS is a list as
tests/pjrt/conformance.list: a pattern of tests, and why they do not pass; one that fails and is in no row of it is
shown as "not explained", and the exit status is 1 then.
"""
import fnmatch
import re
import sys

ROW = re.compile(r"^(\w+_test\.py) +(\d+) of (\d+), (\d+) skipped(?:, (\d+) fail on both)?$")
END = re.compile(r"^\d+ passed, \d+ failed, ")
FAILED = re.compile(r"^  FAILED tests/(\S+)$")


def read_logs(paths):
    """Counts and failed tests of each file, which a run's last line ends."""
    rows, failed = {}, {}
    for path in paths:
        with open(path, encoding="utf-8") as log:
            new_rows, new_failed = {}, []
            for line in log:
                if row := ROW.match(line.rstrip("\n")):
                    new_rows[row[1]] = [int(count or 0) for count in row.groups()[1:]]
                elif test := FAILED.match(line.rstrip("\n")):
                    new_failed.append(test[1])
                elif END.match(line):
                    rows.update(new_rows)
                    failed.update({file: [test for test in new_failed if test.startswith(file + "::")]
                                   for file in new_rows})
                    new_rows, new_failed = {}, []
    return rows, failed


def read_reasons(path):
    with open(path, encoding="utf-8") as file:
        return [line.split(None, 1) for line in file if line.strip() and line[0] != "#"]


def main():
    rows, failed = read_logs(sys.argv[2:])
    reasons, unexplained = read_reasons(sys.argv[1]), 0
    print("| file | passed | counted | skipped | fail on JAX's CPU, too |\n|---|---:|---:|---:|---:|")
    for file, (passed, counted, skipped, on_both) in sorted(rows.items()):
        print(f"| `{file}` | {passed} | {counted} | {skipped} | {on_both} |")
    total = [sum(column) for column in zip(*rows.values())]
    print(f"| {len(rows)} files | {total[0]} | {total[1]} | {total[2]} | {total[3]} |")
    if any(failed.values()):
        print("\nTests that do not pass:\n")
    for test in sorted(test for tests in failed.values() for test in tests):
        found = [reason.strip() for pattern, reason in reasons if fnmatch.fnmatch(test, pattern)]
        unexplained += not found
        print(f"- `{test}`: {found[0] if found else 'not explained'}")
    sys.exit(unexplained > 0)


if __name__ == "__main__":
    main()
