#!/usr/bin/env python3
"""An explorer of small communication schedules that shares nothing with `hlorun check`, and a generator of random ones.

Every random schedule is kept in two forms: HLO text, which the command judges, and the tree below, of which this
program tries every run there is. The two must agree, in both directions.

A process is a block: a list of items, in planned order, each with the items of its block that must come before it.
  ("send", channel, to, size)   ("recv", channel, from, size)   ("done", item)       halves of transfers
  ("join", group, channel, size, waits)                                              a collective; waits: it is synchronous
  ("call", block)   ("loop", turns, block)                                           run as a whole

With --run, the planned order of the first schedules is also run, without asking for a proof first: what the explorer
calls sound must come to its end, and what it says gets stuck must be caught by the time-out, and by --verify-comm
without one.

usage: check_explorer.py HLORUN [--count N] [--seed S] [--run N] [--keep FOLDER]
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile

STATES_MOST = 60000


class TooLarge(Exception):
    pass


# --- meaning ---


class Explorer:
    """Tries every run. A process that has chosen a completion stays there until it happens: orders are fixed ahead."""

    def __init__(self, processes, any_order, buffered):
        self.processes, self.any_order, self.buffered = processes, any_order, buffered
        self.deadlock = self.mismatch = False

    # The state of a process: None (finished), or (state of its block, chosen completion or None).
    # The state of a block: (finished items, active item or None, its turn, state of the block inside).
    def choices(self, block, state):
        """(path, item) of every step that may come next: paths lead into nested blocks."""
        finished, active, turn, inner = state
        if active is not None:
            return [((active,) + path, item) for path, item in self.choices(block[active][0][-1], inner)]
        found = []
        for k, (item, before) in enumerate(block):
            if k in finished:
                continue
            if all(b in finished for b in before):
                found.append(((k,), item))
            if not self.any_order:
                break
        return found

    def advance(self, block, state, path):
        """The block's state after the step at `path`: a call that is entered, or an item that is finished."""
        finished, active, turn, inner = state
        k = path[0]
        item = block[k][0]
        if item[0] in ("call", "loop"):
            turns = item[1] if item[0] == "loop" else 1
            if active is None:
                if turns == 0 or not item[-1]:
                    return (finished | {k}, None, 0, None)
                return (finished, k, 0, (frozenset(), None, 0, None))
            inner = self.advance(item[-1], inner, path[1:])
            if len(inner[0]) < len(item[-1]):
                return (finished, k, turn, inner)
            if turn + 1 < turns:
                return (finished, k, turn + 1, (frozenset(), None, 0, None))
        return (finished | {k}, None, 0, None)

    def start(self, p, item, world):
        """Counts a start: world maps links and groups to what was started. Gives the new world and the number."""
        if item[0] == "join":
            key, side = ("group", item[1], item[2]), p
        else:
            sends = item[0] == "send"
            key, side = ("link", item[1], p if sends else item[2], item[2] if sends else p), 0 if sends else 1
        started = dict(world)
        sizes = started.get((key, side), ())
        started[(key, side)] = sizes + (item[3],)
        number = len(sizes) + 1
        for (other, _), theirs in started.items():
            if other == key and len(theirs) >= number and theirs[number - 1] != item[3]:
                self.mismatch = True
        return tuple(sorted(started.items(), key=repr)), number

    def completes(self, p, item, number, world):
        started = dict(world)
        if item[0] == "join":
            return all(len(started.get((("group", item[1], item[2]), q), ())) >= number for q in item[1])
        if item[0] == "send":
            return len(started.get((("link", item[1], p, item[2]), 1), ())) >= number - self.buffered
        return len(started.get((("link", item[1], item[2], p), 0), ())) >= number

    def run(self):
        empty = (frozenset(), None, 0, None)
        first = tuple((empty, None, ()) for _ in self.processes), ()
        seen, stack = {first}, [first]
        while stack:
            processes, world = stack.pop()
            successors = []
            for p, (state, chosen, open_starts) in enumerate(processes):
                successors += self.steps(p, state, chosen, open_starts, processes, world)
            if not successors and any(len(s[0]) < len(b) for (s, _, _), b in zip(processes, self.processes)):
                self.deadlock = True
            for successor in successors:
                if successor not in seen:
                    seen.add(successor)
                    stack.append(successor)
            if len(seen) > STATES_MOST:
                raise TooLarge
            if self.deadlock and self.mismatch:
                break

    def steps(self, p, state, chosen, open_starts, processes, world):
        block = self.processes[p]

        def become(new_state, new_chosen, new_open, new_world=world):
            return processes[:p] + ((new_state, new_chosen, new_open),) + processes[p + 1:], new_world

        if chosen is not None:
            path, start_path, item, number = chosen
            if not self.completes(p, item, number, world):
                return []
            left = tuple(o for o in open_starts if o[0] != start_path)
            return [become(self.advance(block, state, path), None, left)]
        found = []
        for path, item in self.choices(block, state):
            if item[0] in ("call", "loop"):
                found.append(become(self.advance(block, state, path), None, open_starts))
            elif item[0] == "done":
                start_path = path[:-1] + (item[1],)
                _, what, number = next(o for o in open_starts if o[0] == start_path)
                found.append(become(state, (path, start_path, what, number), open_starts))
            else:
                new_world, number = self.start(p, item, world)
                if item[0] == "join" and item[4]:
                    found.append(become(state, (path, path, item, number), open_starts, new_world))
                else:
                    opened = tuple(sorted(open_starts + ((path, item, number),), key=repr))
                    found.append(become(self.advance(block, state, path), None, opened, new_world))
        return found


# --- random schedules ---


class Generator:
    def __init__(self, rng):
        self.rng = rng
        self.count = rng.choice([2, 2, 2, 3, 3, 4])
        self.density = rng.choice([0.15, 0.4, 0.7, 0.9, 1.0])

    def plan(self):
        """A list of transfers and collectives, each added to all that take part: a sound order to begin with."""
        rng = self.rng
        halves = [[] for _ in range(self.count)]
        # a group's collectives, and a channel's transfers, mostly agree on a size
        for _ in range(rng.randint(1, 5 if self.count < 4 else 3)):
            if rng.random() < 0.35:
                members = tuple(sorted(rng.sample(range(self.count), rng.randint(1, self.count))))
                channel, waits, size = rng.choice([0, 0, 1]), rng.random() < 0.6, 4
                for p in members:
                    halves[p].append([("join", members, channel, size, waits)] + ([] if waits else ["done"]))
            else:
                a = rng.randrange(self.count)
                b = a if rng.random() < 0.05 else rng.choice([q for q in range(self.count) if q != a])
                channel, size = rng.randint(1, 3), 4
                halves[a].append([("send", channel, b, size), "done"])
                halves[b].append([("recv", channel, a, size), "done"])
        return halves

    def block(self, halves):
        """Interleaves the halves, in an order that is often a good one, and links them by random dependencies."""
        rng = self.rng
        order = []
        style = rng.random()
        for half in halves:
            if len(half) == 1 or style < 0.4:
                order += [(half, k) for k in range(len(half))]
            elif style < 0.7:
                order.insert(rng.randint(0, len(order)), (half, 0))
                order.append((half, 1))
            else:
                at = rng.randint(0, len(order))
                order.insert(at, (half, 0))
                order.insert(rng.randint(at + 1, len(order)), (half, 1))
        if rng.random() < 0.25 and len(order) > 1:  # exchange two, if halves stay in order
            i = rng.randrange(len(order) - 1)
            if order[i][0] is not order[i + 1][0]:
                order[i], order[i + 1] = order[i + 1], order[i]
        items, position = [], {}
        for half, k in order:
            before = {j for j in range(len(items)) if rng.random() < self.density}
            if k == 0:
                items.append((half[0], before))
                position[id(half)] = len(items) - 1
            else:
                items.append((("done", position[id(half)]), before | {position[id(half)]}))
        return items

    def spoil(self, halves):
        rng = self.rng
        p = rng.randrange(self.count)
        if not halves[p]:
            return
        k = rng.randrange(len(halves[p]))
        kind = rng.random()
        if kind < 0.5:
            del halves[p][k]
        else:
            item = halves[p][k][0]
            halves[p][k][0] = item[:3] + (8,) + item[4:]

    def process(self, halves, wraps):
        """`wraps`: in how many pieces the process is cut, and which of them are calls or loops: equal everywhere."""
        block, at = [], 0
        for share, wrap, turns in wraps:
            piece = halves[at:at + share]
            at += share
            if wrap == "plain":
                for item, before in self.offset(self.block(piece), len(block)):
                    extra = {j for j in range(len(block)) if self.rng.random() < self.density}
                    block.append((item, before | {j for j in extra if j < len(block)}))
            else:
                inner = self.block(piece)
                before = {j for j in range(len(block)) if self.rng.random() < self.density}
                block.append((("call", inner) if wrap == "call" else ("loop", turns, inner), before))
        return block

    @staticmethod
    def offset(items, by):
        moved = []
        for item, before in items:
            if item[0] == "done":
                item = ("done", item[1] + by)
            moved.append((item, {b + by for b in before}))
        return moved

    def schedule(self):
        rng = self.rng
        halves = self.plan()
        if rng.random() < 0.2:
            self.spoil(halves)
        processes = []
        wrap = rng.choice(["plain", "plain", "call", "loop"])
        turns = rng.choice([0, 1, 2, 2, 3])
        for p in range(self.count):
            mine = turns if rng.random() < 0.9 else rng.randint(0, 2)
            cut = rng.randint(0, len(halves[p])) if wrap != "plain" else 0
            shares = [(cut, wrap, mine), (len(halves[p]) - cut, "plain", 0)]
            if rng.random() < 0.5:
                shares.reverse()
            processes.append(self.process(halves[p], shares))
        return processes


# --- as HLO ---


class Writer:
    def __init__(self, processes, rng, named):
        self.processes, self.rng, self.named = processes, rng, named
        self.computations, self.next = [], 0

    def fresh(self, stem):
        self.next += 1
        return f"{stem}_{self.next}"

    def pairs(self, a, b):
        if not self.named:
            return ""
        return f", frontend_attributes={{_xla_send_recv_source_target_pairs={{{{{a},{b}}}}}}}"

    def item(self, p, item, names, before, lines):
        control = ", control-predecessors={" + ", ".join(names[b] for b in sorted(before)) + "}" if before else ""
        name = self.fresh("e")
        if item[0] in ("send", "recv"):
            shape = f"(f32[{item[3]}], u32[], token[])"
            ends = (p, item[2]) if item[0] == "send" else (item[2], p)
            operands = f"x{item[3]}, t" if item[0] == "send" else "t"
            lines.append(f"{name} = {shape} {item[0]}({operands}), channel_id={item[1]}{control}{self.pairs(*ends)}")
        elif item[0] == "done":
            start = self.block_items[-1][item[1]][0]
            other = names[item[1]]
            if start[0] == "join":
                lines.append(f"{name} = f32[{start[3]}] all-reduce-done({other}){control}")
            else:
                shape = "token[]" if start[0] == "send" else f"(f32[{start[3]}], token[])"
                lines.append(f"{name} = {shape} {start[0]}-done({other}), channel_id={start[1]}{control}")
        elif item[0] == "join":
            rest = [[q] for q in range(len(self.processes)) if q not in item[1]]
            groups = ",".join("{" + ",".join(map(str, g)) + "}" for g in [list(item[1])] + rest)
            channel = f", channel_id={item[2]}, use_global_device_ids=true" if item[2] else ""
            op = "all-reduce" if item[4] else "all-reduce-start"
            lines.append(f"{name} = f32[{item[3]}] {op}(x{item[3]}), replica_groups={{{groups}}}, to_apply=sum{channel}{control}")
        elif item[0] == "call":
            lines.append(f"{name} = s32[] call(), to_apply={self.block(p, item[1])}{control}")
        else:
            lines.append(f"{name} = (s32[]) while(zero), condition={self.condition(item[1])}, "
                         f"body={self.block(p, item[2], loop=True)}{control}")
        return name

    def condition(self, turns):
        name = self.fresh("test")
        self.computations.append(f"{name} {{\n  s = (s32[]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
                                 f"  n = s32[] constant({turns})\n  ROOT more = pred[] compare(i, n), direction=LT\n}}\n")
        return name

    def block(self, p, block, loop=False, param=None):
        name = self.fresh("block")
        self.block_items = getattr(self, "block_items", []) + [block]
        lines, names = [], []
        if loop:
            lines += ["s = (s32[]) parameter(0)", "i = s32[] get-tuple-element(s), index=0", "one = s32[] constant(1)"]
        if param:
            lines.append(f"given = {param} parameter(0)")
        lines += ["t = token[] after-all()", "c = f32[] constant(1)", "x4 = f32[4] broadcast(c), dimensions={}",
                  "x8 = f32[8] broadcast(c), dimensions={}", "z = s32[] constant(0)", "zero = (s32[]) tuple(z)"]
        for item, before in block:
            names.append(self.item(p, item, names, before, lines))
        if loop:
            lines += ["j = s32[] add(i, one)", "ROOT r = (s32[]) tuple(j)"]
        else:
            lines.append("ROOT r = s32[] constant(7)")
        self.block_items.pop()
        self.computations.append(f"{name} {{\n  " + "\n  ".join(lines) + "\n}\n")
        return name

    def text(self):
        count = len(self.processes)
        branches = [self.block(p, block, param="s32[]") for p, block in enumerate(self.processes)]
        head = (f"HloModule schedule, replica_count={count}\n\n"
                "sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b)\n}\n")
        entry = ("ENTRY main {\n  id = u32[] replica-id()\n  me = s32[] convert(id)\n"
                 f"  ROOT r = s32[] conditional(me, {', '.join(['me'] * count)}), "
                 f"branch_computations={{{', '.join(branches)}}}\n}}\n")
        return head + "\n".join(self.computations) + "\n" + entry


# --- the comparison ---


def has_one_end_each(processes):
    """Can the ends of all channels be found without naming them: one sender and one receiver each?"""
    senders, receivers = {}, {}

    def look(p, block):
        for item, _ in block:
            if item[0] in ("call", "loop"):
                if item[0] == "call" or item[1]:
                    look(p, item[-1])
            elif item[0] == "send":
                senders.setdefault(item[1], set()).add((p, item[2]))
            elif item[0] == "recv":
                receivers.setdefault(item[1], set()).add((item[2], p))

    for p, block in enumerate(processes):
        look(p, block)
    return all(len(senders.get(c, ())) == 1 and senders.get(c) == receivers.get(c)
               for c in set(senders) | set(receivers))


def judge(hlorun, path, any_order, buffered):
    command = [hlorun, "check", path, "--buffered", str(buffered)] + (["--any-order"] if any_order else [])
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    for line in done.stdout.splitlines():
        word = line.split(":")[0]
        if word in ("SOUND", "DEADLOCK", "MISUSE", "UNPROVED"):
            return word, done
    return f"exit {done.returncode}", done


def expected(explorer):
    if explorer.mismatch:
        return {"MISUSE", "DEADLOCK"} if explorer.deadlock else {"MISUSE"}
    return {"DEADLOCK", "MISUSE"} if explorer.deadlock else {"SOUND"}


def run_it(hlorun, path, processes, stuck, tally, options, code):
    """`code`: of one that gets stuck."""
    command = [hlorun, "-n", str(len(processes)), "--no-proof", path] + options
    late = dict(os.environ, HLORUN_FAULT="delay:20")  # another order of arrival each time
    for _ in range(3):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, env=late)
        if "PMIx_server_finalize" not in done.stderr:  # Open MPI's mpirun sometimes crashes when several ranks give up
            break
    tally["ran, stuck" if stuck else "ran, sound"] = tally.get("ran, stuck" if stuck else "ran, sound", 0) + 1
    if done.returncode in ((4, code) if stuck else (0,)):  # 4: a message without a partner is noticed when it is loaded
        tally["passed"] += 1
        return
    tally["failed"] += 1
    print(f"FAILED: run {' '.join(options)} {path}: exit {done.returncode}, want {code if stuck else 0}\n"
          f"{done.stdout}{done.stderr}")


def compare(hlorun, seed, folder, tally, runs):
    rng = random.Random(seed)
    processes = Generator(rng).schedule()
    named = runs or not has_one_end_each(processes) or rng.random() < 0.5
    path = os.path.join(folder, f"schedule_{seed}.hlo")
    with open(path, "w") as file:
        file.write(Writer(processes, rng, named).text())
    for any_order in (False, True):
        buffered = rng.choice([0, 0, 0, 1, 2])
        explorer = Explorer(processes, any_order, buffered)
        try:
            explorer.run()
        except TooLarge:
            tally["too large to explore"] += 1
            continue
        got, done = judge(hlorun, path, any_order, buffered)
        want = expected(explorer)
        tally[got] = tally.get(got, 0) + 1
        exit_code = 0 if got == "SOUND" else 4
        if got in want and done.returncode == exit_code:
            tally["passed"] += 1
            if runs and not any_order and not buffered and explorer.mismatch:
                tally["not run"] = tally.get("not run", 0) + 1
            elif runs and not any_order and not buffered:
                run_it(hlorun, path, processes, explorer.deadlock, tally, ["--timeout", "2"], 6)
                run_it(hlorun, path, processes, explorer.deadlock, tally, ["--verify-comm"], 4)
            continue
        tally["failed"] += 1
        print(f"FAILED: seed {seed}, any order {any_order}, buffered {buffered}: got {got} (exit {done.returncode}), "
              f"want {' or '.join(sorted(want))}; {path}")
        print(done.stdout + done.stderr)
        return False
    os.remove(path)
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hlorun")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--run", type=int, default=0)
    parser.add_argument("--keep")
    args = parser.parse_args()
    tally = {"passed": 0, "failed": 0, "too large to explore": 0}
    folder = args.keep or tempfile.mkdtemp(prefix="hlorun-schedules.")
    os.makedirs(folder, exist_ok=True)
    for seed in range(args.seed, args.seed + args.count):
        compare(args.hlorun, seed, folder, tally, seed - args.seed < args.run)
    if not tally["failed"] and not args.keep:
        os.rmdir(folder)
    print(", ".join(f"{count} {word}" for word, count in sorted(tally.items()) if word not in ("passed", "failed")))
    print(f"{tally['passed']} passed, {tally['failed']} failed")
    return 1 if tally["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
