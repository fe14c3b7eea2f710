#!/usr/bin/env bash
# How long reading, propagating and partitioning of a large global program take: COUNT instructions (default 10000) on a
# mesh of 64 x 8 partitions, in seconds of the whole command. HLORUN names the command.
set -eu
hlorun=${HLORUN:-build/hlorun}
count=${1:-10000}
program=$(mktemp "${TMPDIR:-/tmp}/bench_partition.XXXXXX.hlo")
trap 'rm -f "$program"' EXIT

awk -v layers="$((count / 3))" 'BEGIN {
  print "HloModule big, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<[\"d\"=64, \"m\"=8]>}}"
  print "ENTRY main {"
  split("x 128,64 {\\\"d\\\"},{} w 64,64 {},{\\\"m\\\"} v 64,64 {\\\"m\\\"},{}", p, " ")
  for (k = 0; k < 3; k++)
    printf "  %s = f32[%s] parameter(%d), frontend_attributes={xla.sdy.sharding=\"#sdy.sharding<@mesh, [%s]>\"}\n",
      p[3 * k + 1], p[3 * k + 2], k, p[3 * k + 3]
  last = "x"
  for (i = 0; i < layers; i++) {
    printf "  d%d = f32[128,64] dot(%s, %s), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n", i, last, i % 2 ? "v" : "w"
    printf "  t%d = f32[128,64] tanh(d%d)\n  a%d = f32[128,64] add(t%d, %s)\n", i, i, i, i, last
    last = "a" i
  }
  printf "  ROOT r = f32[128,64] copy(%s)\n}\n", last
}' >"$program"

for stage in read propagate partition; do
  start=$(date +%s.%N)
  "$hlorun" --stop-after "$stage" "$program" >/dev/null
  awk -v stage="$stage" -v from="$start" -v to="$(date +%s.%N)" \
    'BEGIN { printf "%-10s %.3f s\n", stage, to - from }'
done
