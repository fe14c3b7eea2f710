#!/usr/bin/env python3
"""Trainings to which something happens at random moments, again and again, with --max-restarts and --checkpoint: each
must end by itself, with the same bits as one that nobody disturbed.

    random_kills.py HLORUN [--count N] [--seed S] [--kinds rank,launcher,...] [--hosts]

Kinds: `rank` kill -9 of a process, `starting` the same in its first moments, `launcher` kill -9 of the command itself
(which is then started again with --resume), `stop` SIGSTOP of a process under --timeout 1, `term` SIGTERM to a process,
`disk` a file system that is full at a checkpoint for a while (needs root). --hosts runs the kinds `link` (the wire
between two hosts is cut), `rank` and `starting` over mpirun on hosts that are network namespaces (needs root and ip).

Prints a row for each kind: what happened, runs, times in milliseconds from the disturbance to the message that says so
and to the first step after it; the last line is "N passed, N failed". Standard library only."""
import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

PROGRAM = """HloModule train

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

ENTRY main {
  weights = f32[16,16] parameter(0)
  count = s32[] parameter(1)
  squashed = f32[16,16] tanh(weights)
  gradient = f32[16,16] dot(squashed, weights), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  all = f32[16,16] all-reduce(gradient), replica_groups={}, to_apply=add
  low = f32[] constant(0)
  high = f32[] constant(0.01)
  noise = f32[16,16] rng(low, high), distribution=rng_uniform
  rate = f32[] constant(-0.01)
  rates = f32[16,16] broadcast(rate), dimensions={}
  step = f32[16,16] multiply(all, rates)
  moved = f32[16,16] add(weights, step)
  shaken = f32[16,16] add(moved, noise)
  one = s32[] constant(1)
  next = s32[] add(count, one)
  ROOT both = (f32[16,16], s32[]) tuple(shaken, next)
}
"""
LOCAL_KINDS = ["rank", "rank", "rank", "starting", "launcher", "stop", "term", "disk"]
HOST_KINDS = ["link", "rank", "starting"]
CARRY = ["--carry", "0:0,1:1", "--input", "1=s32[] 0", "--random-inputs=3", "--no-progress"]


class Row:
    """What one kind of disturbance did."""

    def __init__(self):
        self.done, self.late, self.wrong = 0, 0, 0  # late: the run had ended before
        self.noticed, self.resumed = [], []         # ms

    def text(self, kind):
        def times(ms):
            ms = sorted(ms)
            return "%6.0f %6.0f %6.0f" % (ms[len(ms) // 2], ms[len(ms) * 9 // 10], ms[-1]) if ms else " " * 20
        return "%-9s %6d %6d %6d   %s   %s" % (kind, self.done, self.late, self.wrong, times(self.noticed),
                                               times(self.resumed))


def arrays(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def children(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def rank_of(pid):
    try:
        with open("/proc/%d/environ" % pid, "rb") as file:
            env = dict(word.split(b"=", 1) for word in file.read().split(b"\0") if b"=" in word)
    except OSError:
        return None
    if b"HLORUN_LAUNCHED" in env:
        return int(env[b"HLORUN_LAUNCHED"].split()[1])
    return int(env[b"OMPI_COMM_WORLD_RANK"]) if b"OMPI_COMM_WORLD_RANK" in env else None


class Run:
    """A training under --max-restarts, started again by hand where its launcher was killed."""

    def __init__(self, options, ranks, kind, number):
        self.options, self.ranks, self.kind = options, ranks, kind
        self.folder = "disk/kept" if kind == "disk" else "kept"
        self.log = "log%d" % number
        self.restarts = 0  # before the last disturbance
        shutil.rmtree(self.folder, ignore_errors=True)
        open(self.log, "wb").close()
        self.process = None
        self.start(False)

    def start(self, resumes):
        self.process = subprocess.Popen(self.command() + (["--resume"] if resumes else []) + ["train.hlo"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=open(self.log, "ab"),
                                        start_new_session=True)

    def command(self):
        where = ["--hosts", "a:1,b:1"] if self.options.hosts else ["-n", str(self.ranks)]
        limit = ["--timeout", "1"] if self.kind in ("stop", "link") else []
        return self.options.prefix + [self.options.hlorun] + where + limit + CARRY + [
            "--steps", str(self.options.steps), "--checkpoint", self.folder, "--every", "50", "--max-restarts", "40",
            "-o", "after.npz"]

    def text(self):
        with open(self.log, errors="replace") as file:
            return file.read()

    def restarted(self):
        return self.text().count("hlorun: restart") > self.restarts

    def victims(self):
        if not self.options.hosts:
            return children(self.process.pid)
        pids = [int(pid) for space in self.options.namespaces for pid in
                subprocess.run(["ip", "netns", "pids", space], capture_output=True, text=True).stdout.split()]
        return [pid for pid in pids if rank_of(pid) is not None]

    def steps(self):
        try:
            return sorted(name for name in os.listdir(self.folder) if name.startswith("step-"))
        except OSError:
            return []

    def is_over(self):
        return self.process.poll() is not None

    def wait_until(self, condition, seconds=None):
        """False: the run has ended first, or the time is over."""
        until = time.monotonic() + (seconds or self.options.longest)
        while time.monotonic() < until:
            if condition():
                return True
            if self.is_over():
                return condition()
            time.sleep(0.003)
        return False

    def end(self):
        try:
            self.process.wait(self.options.longest)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            return "does not end"
        was_complete = self.kind == "launcher" and "leaves nothing to do" in self.text()
        if self.process.returncode and not was_complete:
            return "exit code %d" % self.process.returncode
        return None if arrays("after.npz") == self.options.want[self.ranks] else "other bits"


# --- disturbances: each returns False if the run was over before ---

def send(run, number):
    victims = run.victims()
    if not victims:
        return False
    try:
        os.kill(run.options.random.choice(victims), number)
    except ProcessLookupError:
        return False
    return True


def fill_disk(run):
    with open("disk/filler", "wb", 0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    run.wait_until(run.restarted, 20)
    os.unlink("disk/filler")
    return True


def cut_link(run):
    subprocess.run(["ip", "link", "set", run.options.wire, "down"], check=True)
    noticed = run.wait_until(run.restarted, 60)
    subprocess.run(["ip", "link", "set", run.options.wire, "up"], check=True)
    return noticed


def kill_launcher(run):
    if run.is_over():
        return False
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait()
    run.start(True)
    return True


def disturb(run, kind):
    signals = {"rank": signal.SIGKILL, "starting": signal.SIGKILL, "stop": signal.SIGSTOP, "term": signal.SIGTERM}
    if kind == "disk":
        return fill_disk(run)
    if kind == "link":
        return cut_link(run)
    return kill_launcher(run) if kind == "launcher" else send(run, signals[kind])


def wait_for_moment(run, kind):
    """Some have only just begun, the others have written a checkpoint since the last time."""
    if kind == "starting":
        run.wait_until(lambda: run.victims(), 20)
        time.sleep(run.options.random.uniform(0, 0.05))
        return
    before = run.steps()
    run.wait_until(lambda: run.steps() != before and run.steps(), 60)
    time.sleep(run.options.random.uniform(0, 0.03))


def follow(run, kind, row, since, going_on):
    """Times until it is noticed, and until the training goes on."""
    if kind != "launcher":
        if not run.wait_until(run.restarted):
            return
        row.noticed.append((time.monotonic() - since) * 1000)
    if kind == "starting" and run.options.random.random() < 0.5:
        return  # the next one comes while it starts again
    if run.wait_until(lambda: run.text().count("going on after step") > going_on):
        row.resumed.append((time.monotonic() - since) * 1000)


def one_run(options, kind, rows, number):
    row = rows.setdefault(kind, Row())
    run = Run(options, options.random.choice([n for n in options.ranks if n > 1 or kind != "stop"]), kind, number)
    for _ in range(options.random.randint(1, 3)):
        wait_for_moment(run, kind)
        going_on, run.restarts = run.text().count("going on after step"), run.text().count("hlorun: restart")
        since = time.monotonic()
        if run.is_over() or not disturb(run, kind):
            row.late += 1
            break
        row.done += 1
        follow(run, kind, row, since, going_on)
    problem = run.end()
    if problem:
        row.wrong += 1
        print("FAILED: %s on %d ranks, run %d: %s" % (kind, run.ranks, number, problem))
        print("    " + run.text()[-1500:].replace("\n", "\n    "), flush=True)
    else:
        os.unlink(run.log)
    return problem is None


# --- hosts ---

def put_up_hosts(options):
    """Two network namespaces on one bridge; tests/tools/netns_rsh starts processes there."""
    prefix, wire = "hlorun-kills-%d" % os.getpid(), "hk%d" % os.getpid()
    options.wire, options.namespaces = wire + "b", [prefix + "-a", prefix + "-b"]
    os.environ.update(NETNS_PREFIX=prefix, NETNS_CORES=os.getcwd() + "/core", OMPI_MCA_btl="self,vader,tcp",
                      OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                      OMPI_MCA_rmaps_base_oversubscribe="1",
                      OMPI_MCA_hwloc_base_binding_policy="none", OMPI_MCA_mpi_yield_when_idle="1",
                      OMPI_MCA_orte_tmpdir_base=os.getcwd(), OMPI_MCA_plm_rsh_agent=os.getcwd() + "/rsh")
    shutil.copy(os.path.dirname(os.path.abspath(__file__)) + "/netns_rsh", "rsh")
    commands = ["ip link add %sbr type bridge" % wire, "ip link set %sbr up" % wire]
    for number, host in enumerate("ab"):
        with open("core-" + host, "w") as file:
            file.write(str(number % os.cpu_count()))
        space = options.namespaces[number]
        commands += ["ip netns add " + space, "ip link add %s%s type veth peer name eth0 netns %s" % (wire, host,
            space),
                     "ip link set %s%s master %sbr up" % (wire, host, wire),
                     "ip -n %s addr add 10.78.1.%d/24 dev eth0" % (space, number + 1),
                     "ip -n %s link set lo up" % space,
                     "ip -n %s link set eth0 up" % space]
    for command in commands:
        subprocess.run(command.split(), check=True)
    options.prefix = ["ip", "netns", "exec", options.namespaces[0], "unshare", "--uts", "sh", "-c",
                      'hostname a && exec "$@"', "sh"]


def take_down_hosts(options):
    for space in options.namespaces:
        left = subprocess.run(["ip", "netns", "pids", space], capture_output=True, text=True).stdout.split()
        for pid in left:
            os.kill(int(pid), signal.SIGKILL)
        subprocess.run(["ip", "netns", "del", space])
    subprocess.run(["ip", "link", "del", options.wire[:-1] + "br"])


# --- all ---

def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hlorun", type=os.path.abspath)
    parser.add_argument("--count", type=int, default=20, help="disturbances in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--longest", type=float, default=120, help="seconds after which a run has hung")
    parser.add_argument("--kinds")
    parser.add_argument("--hosts", action="store_true")
    options = parser.parse_args()
    options.random = random.Random(options.seed)
    options.kinds = options.kinds.split(",") if options.kinds else HOST_KINDS if options.hosts else LOCAL_KINDS
    options.prefix, options.ranks = [], [2] if options.hosts else [1, 2, 3]
    return options


def has_disk():
    os.mkdir("disk")
    return subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", "disk"],
                          capture_output=True).returncode == 0


def undisturbed(options, ranks):
    command = options.prefix + [options.hlorun] + (["--hosts", "a:1,b:1"] if options.hosts else ["-n", str(ranks)])
    subprocess.run(command + CARRY + ["--steps", str(options.steps), "-o", "want.npz", "train.hlo"], check=True,
                   stdout=subprocess.DEVNULL)
    return arrays("want.npz")


def campaign(options):
    rows, passed, failed, number = {}, 0, 0, 0
    options.want = {ranks: undisturbed(options, ranks) for ranks in options.ranks}
    began = time.monotonic()
    while sum(row.done for row in rows.values()) < options.count and failed < 20 and number < 3 * options.count:
        number += 1
        is_fine = one_run(options, options.random.choice(options.kinds), rows, number)
        passed, failed = passed + is_fine, failed + (not is_fine)
    print("kind        done   late  wrong   noticed: median, 90%, most   goes on: median, 90%, most (ms)")
    for kind in sorted(rows):
        print(rows[kind].text(kind))
    print("%d disturbances of %d runs in %.0f s" % (sum(row.done for row in rows.values()), number,
                                                    time.monotonic() - began))
    print("%d passed, %d failed" % (passed, failed))
    return failed


def main():
    if os.geteuid() == 0 and "RANDOM_KILLS_MOUNTS" not in os.environ and "--hosts" not in sys.argv:
        if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0:
            os.environ["RANDOM_KILLS_MOUNTS"] = "1"
            os.execvp("unshare", ["unshare", "-m", sys.executable] + sys.argv)
    options = parse()
    work = tempfile.mkdtemp(prefix="hlorun-kills-")
    os.chdir(work)
    with open("train.hlo", "w") as file:
        file.write(PROGRAM)
    if "RANDOM_KILLS_MOUNTS" not in os.environ or not has_disk():
        options.kinds = [kind for kind in options.kinds if kind != "disk"]
    try:
        if options.hosts:
            put_up_hosts(options)
        failed = campaign(options)
    finally:
        if options.hosts:
            take_down_hosts(options)
        subprocess.run(["umount", "disk"], capture_output=True)
        os.chdir("/")
        shutil.rmtree(work, ignore_errors=True)
    sys.exit(1 if failed else 0)


main()
