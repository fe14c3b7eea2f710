#!/usr/bin/env bash
# --trace, --explain and the counts of --stats: valid JSON, the names and kinds that should be there, one timeline for
# several processes, and a ring that says what it dropped.
set -u
. "$(dirname "$0")/common.sh"
cd "$work" || exit 99

cat >loop.hlo <<'END'
HloModule loop
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
body {
  state = (s32[], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  m = f32[64,64] get-tuple-element(state), index=1
  product = f32[64,64] dot(m, m), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  wave = f32[64,64] sine(product)
  ROOT out = (s32[], f32[64,64]) tuple(next, wave)
}
condition {
  state = (s32[], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  limit = s32[] constant(1000)
  ROOT more = pred[] compare(i, limit), direction=LT
}
ENTRY main {
  zero = s32[] constant(0)
  m = f32[64,64] parameter(0)
  start = (s32[], f32[64,64]) tuple(zero, m)
  end = (s32[], f32[64,64]) while(start), condition=condition, body=body
  matrix = f32[64,64] get-tuple-element(end), index=1
  nothing = f32[] constant(0)
  total = f32[64] reduce(matrix, nothing), dimensions={1}, to_apply=add
  ROOT all = f32[64] all-reduce(total), replica_groups={}, to_apply=add
}
END

# check_timeline NAME PROCESSES WORD...: the file is JSON as the viewers read it, and has events of these names or kinds
# from each of the processes. Without python3, only the words are looked for.
check_timeline() {
  local name=$1 processes=$2 word
  shift 2
  if ! python3 -c '' 2>/dev/null; then
    for word; do grep -qF "\"$word\"" trace.json && pass || fail "$name: no $word"; done
    return
  fi
  if python3 - "$processes" "$@" >"$work/out" 2>&1 <<'END'
import json, sys
processes, words = int(sys.argv[1]), sys.argv[2:]
events = [e for e in json.load(open("trace.json"))["traceEvents"] if e["ph"] == "X"]
assert {e["pid"] for e in events} == set(range(processes)), "processes"
assert all(e["ts"] >= 0 and e["dur"] >= 0 and e["args"]["kind"] == e["cat"] for e in events), "times"
for pid in range(processes):
    known = {e[key] for e in events if e["pid"] == pid for key in ("name", "cat")}
    assert not set(words) - known, f"process {pid} lacks {set(words) - known}"
runs = [e for e in events if e["cat"] == "run"]
turns = [e for e in events if e["name"] == "product"]
for t in turns:
    assert any(r["pid"] == t["pid"] and r["ts"] <= t["ts"] and
               t["ts"] + t["dur"] <= r["ts"] + r["dur"] + 0.01 for r in runs), "outside of a run"
assert turns, "no turns"
print(len(turns))
END
  then pass; else fail "$name" "$work/out"; fi
}

expect_count() {
  [ "$(grep -c '"name":"product"' trace.json)" -eq "$2" ] && pass || fail "$1"
}

for engine in reference compiled; do
  expect_exit "$engine" 0 "$hlorun" --engine $engine --random-inputs --trace trace.json --explain loop.hlo
  expect_text "$engine: table" "us/call"
  expect_text "$engine: the product" "(dot): product"
  expect_text "$engine: the rest" "between kernels"
  check_timeline "$engine: timeline" 1 read passes plan code end product all total execution
  expect_count "$engine: every turn" 1000
  expect_exit "$engine: a small ring" 0 env HLORUN_TRACE_EVENTS=64 "$hlorun" --engine $engine --random-inputs \
    --trace trace.json loop.hlo
  expect_text "$engine: a small ring" "calls and shares are not in the timeline"
  check_timeline "$engine: what the small ring has" 1 read execution product
  grep -q "earlier calls dropped" trace.json && pass || fail "$engine: the timeline does not say what was dropped"
done

# Each worker has a row, with its shares inside of the calls that they are of; the shares of a loop add up.
cat >wide.hlo <<'END'
HloModule wide
ENTRY main {
  a = f32[2048,1024] parameter(0)
  b = f32[2048,1024] sine(a)
  c = f32[2048,1024] exponential(b)
  ROOT d = f32[2048,1024] multiply(c, a)
}
END
expect_exit "workers" 0 "$hlorun" --threads 3 --random-inputs --repeat 20 --trace trace.json --explain wide.hlo
threads=$(nproc)
[ "$threads" -lt 3 ] || threads=3
if [ "$threads" -gt 1 ]; then
  expect_text "workers: used evenly" "$threads workers, busy for"
else
  skip "workers: used evenly" "one core"
fi
expect_exit "workers: one" 0 "$hlorun" --threads 1 --random-inputs --trace one.json --explain wide.hlo
grep -q "workers, busy for" "$work/out" && fail "workers: one" "$work/out" || pass
if [ "$threads" -gt 1 ] && python3 -c '' 2>/dev/null; then
  if python3 - "$threads" >"$work/out" 2>&1 <<'END'
import json
import sys
events = json.load(open("trace.json"))["traceEvents"]
rows = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
assert rows == {0: "steps", **{k + 1: f"worker {k}" for k in range(int(sys.argv[1]))}}, rows
calls = [e for e in events if e["ph"] == "X" and e["tid"] == 0 and e["cat"] == "generated"]
shares = [e for e in events if e["ph"] == "X" and e["tid"] and e["cat"] != "loading"]
assert len(calls) == 20 and shares, (len(calls), len(shares))
for call in calls:
    inside = [s for s in shares if call["ts"] <= s["ts"] and s["ts"] + s["dur"] <= call["ts"] + call["dur"] + 0.01]
    assert {s["name"] for s in inside} == {call["name"]}, inside
    assert sum(s["args"]["units"] for s in inside) == inside[0]["args"]["of"], inside
    assert len({s["tid"] for s in inside}) == len(inside), inside
alone = json.load(open("one.json"))["traceEvents"]
assert not [e for e in alone if e.get("tid", 0)], "rows of one worker"
assert [e["args"]["name"] for e in alone if e["name"] == "thread_name"] == ["steps"], "the row has no name"
END
  then pass; else fail "workers: rows" "$work/out"; fi
fi

# What the compiled engine ran, and with what.
expect_exit "kinds" 0 "$hlorun" --engine compiled --random-inputs --trace trace.json --stats stats.json loop.hlo
check_timeline "kinds" 1 native control
grep -q '"GFLOP/s"' trace.json && pass || fail "no FLOP/s in the timeline"
for key in native_steps generated_steps reference_steps code_modules code_modules_cached; do
  grep -q "\"$key\"" stats.json && pass || fail "--stats has no $key" stats.json
done
expect_exit "no number" 2 env HLORUN_TRACE_EVENTS=many "$hlorun" --random-inputs --trace trace.json loop.hlo
expect_exit "no place" 5 "$hlorun" --random-inputs --trace /nonexistent/t.json loop.hlo

# A run that fails leaves what it did until then.
cat >fails.hlo <<'END'
HloModule fails
ENTRY main {
  m = f32[64,64] parameter(0)
  product = f32[64,64] dot(m, m), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  same = () custom-call(m, product), custom_call_target="check.expect_eq", custom_call_has_side_effect=true
  ROOT wave = f32[64,64] cosine(product)
}
END
rm -f trace.json
expect_exit "a failure" 1 "$hlorun" --random-inputs --trace trace.json fails.hlo
expect_text "a failure" "until the failure"
check_timeline "a failure" 1 read product

leak_check_off
rm -f trace.json
expect_exit "failures of two" 1 "$hlorun" -n 2 --random-inputs --trace trace.json fails.hlo
[ -s trace.json.rank0 ] || [ -s trace.json.rank1 ] && pass || fail "failures of two: no timeline"
for engine in reference compiled; do
  expect_exit "two processes, $engine" 0 "$hlorun" -n 2 --engine $engine --random-inputs --trace trace.json --explain \
    loop.hlo
  expect_text "two processes, $engine: waits" "waiting for peers"
  check_timeline "two processes, $engine: timeline" 2 read product all "wait for peers" collective execution
done
finish
