"""Runs JAX's own tests on the plugin, and prints a row for each file: how many passed of those that pass on JAX's CPU,
how many were skipped, and how many fail on JAX's CPU, too.

usage: jax_conformance.py [--count N] [--seed S] [--limit SECONDS] JAX_FOLDER PLUGIN [FILE...]

JAX_FOLDER is JAX's repository at the installed version's tag; FILE is a name in its tests/ (default: all). Of each file
N tests are drawn (default 25; 0: all). A test that fails is run on JAX's CPU backend with as many devices: it counts if
it passes there. tests/pjrt/conformance.list names tests that look at XLA's own text, which are left out. A test that
ends the process, or takes longer than the limit, counts as failed, and the others go on in a new process.
"""
import argparse
import fnmatch
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

APART = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "pjrt", "conformance.list")
COMMON = {"JAX_NUM_GENERATED_CASES": "3", "JAX_SKIP_SLOW_TESTS": "true", "TF_CPP_MIN_LOG_LEVEL": "3"}


# --- in the process of pytest ---

def log(**event):
    with open(os.environ["CONFORMANCE_LOG"], "a", encoding="utf-8") as file:
        file.write(json.dumps(event) + "\n")


def pytest_collection_modifyitems(items):
    """Only the tests that are asked for: by name, or drawn."""
    with open(os.environ["CONFORMANCE_ASKED"], encoding="utf-8") as file:
        asked = json.load(file)
    if asked["names"] is None:
        drawn = sorted(items, key=lambda item: item.nodeid)
        random.Random(asked["seed"]).shuffle(drawn)
        drawn = drawn[:asked["count"] or None]
        asked["names"] = [item.nodeid for item in drawn]
    wanted = set(asked["names"]) - set(asked["done"])
    items[:] = [item for item in items if item.nodeid in wanted]


def pytest_runtest_logstart(nodeid):
    log(begin=nodeid)


def pytest_runtest_logreport(report):
    if report.failed:
        log(end=report.nodeid, verdict="failed", message=str(report.longrepr)[-2000:])
    elif report.skipped:
        log(end=report.nodeid, verdict="skipped", message="")
    elif report.when == "call":
        log(end=report.nodeid, verdict="passed", message="")


# --- the process that starts the others ---

class Run:
    """Tests of one file on one platform: verdict and message by name."""

    def __init__(self, options, file, environment):
        self.options, self.file = options, file
        self.environment = dict(os.environ, **COMMON, **environment)
        self.environment["PYTHONPATH"] = os.path.dirname(os.path.abspath(__file__))
        self.verdicts = {}

    def take_events(self, log_file):
        """Reads what was logged since; returns the test that has begun and not ended, if any."""
        for line in log_file:
            event = json.loads(line)
            if "begin" in event:
                self.current, self.since = event["begin"], time.monotonic()
            elif self.verdicts.get(event["end"], ("",))[0] != "failed":
                self.verdicts[event["end"]] = (event["verdict"], event["message"])
                self.current = None

    def run_once(self, folder, names):
        """True if a test ended the process."""
        log_path, asked_path = os.path.join(folder, "log"), os.path.join(folder, "asked")
        asked = {"names": names, "count": self.options.count, "seed": self.options.seed, "done": list(self.verdicts)}
        with open(asked_path, "w", encoding="utf-8") as file:
            json.dump(asked, file)
        environment = dict(self.environment, CONFORMANCE_LOG=log_path, CONFORMANCE_ASKED=asked_path)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "jax_conformance", "-p", "no:cacheprovider",
                   "--tb=short",
                   os.path.join("tests", self.file)]
        self.current, self.since = None, time.monotonic()
        with open(log_path, "w+", encoding="utf-8") as log_file:
            with subprocess.Popen(command, cwd=self.options.jax, env=environment, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, start_new_session=True) as process:
                while process.poll() is None:
                    time.sleep(0.2)
                    self.take_events(log_file)
                    if self.current and time.monotonic() - self.since > self.options.limit:
                        os.killpg(process.pid, signal.SIGKILL)
            self.take_events(log_file)
        if not self.current:
            return False
        self.verdicts[self.current] = ("failed", "it ended the process, or took too long")
        return True

    def run(self, names=None):
        with tempfile.TemporaryDirectory() as folder:
            while self.run_once(folder, names):
                pass
        return self.verdicts


def read_apart():
    with open(APART, encoding="utf-8") as file:
        return [line.split()[0] for line in file if line.strip() and line[0] != "#"]


def measure(options, file, apart):
    """Prints the row of a file; returns how many passed, failed, were skipped, and fail on JAX's CPU, too."""
    verdicts = Run(options, file, {"JAX_PLATFORMS": "hlorun", "HLORUN_DEVICES": "8",
                                   "PJRT_NAMES_AND_LIBRARY_PATHS": "hlorun:" + options.plugin}).run()
    failed = [name for name, (verdict, _) in verdicts.items() if verdict == "failed"]
    failed = [name for name in failed if not any(fnmatch.fnmatch(name.removeprefix("tests/"), row) for row in apart)]
    tried = len(failed)
    if failed:
        oracle = Run(options, file, {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=8"})
        on_cpu = oracle.run(failed)
        failed = [name for name in failed if on_cpu.get(name, ("",))[0] == "passed"]
    passed = sum(verdict == "passed" for verdict, _ in verdicts.values())
    skipped = sum(verdict == "skipped" for verdict, _ in verdicts.values())
    on_both = tried - len(failed)
    print(f"{file:45s} {passed} of {passed + len(failed)}, {skipped} skipped, {on_both} fail on both", flush=True)
    for name in failed:
        print(f"  FAILED {name}\n    {verdicts[name][1].strip().splitlines()[-1]}", flush=True)
    return passed, len(failed), skipped, on_both


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=400)
    parser.add_argument("jax")
    parser.add_argument("plugin")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    options.plugin = os.path.abspath(options.plugin)
    folder = os.path.join(options.jax, "tests")
    files = options.files or sorted(name for name in os.listdir(folder) if name.endswith("_test.py"))
    apart = read_apart()
    passed, failed, skipped, on_both = map(sum, zip(*(measure(options, file, apart) for file in files)))
    print(f"{passed} passed, {failed} failed, {skipped} skipped, {on_both} fail on both")


if __name__ == "__main__":
    main()
