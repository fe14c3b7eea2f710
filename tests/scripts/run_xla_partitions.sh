#!/usr/bin/env bash
# Programs that XLA has partitioned: global arrays are cut by the shardings of the parameters, and results put together.
set -u
. "$(dirname "$0")/common.sh"
cd "$work" || exit 99

# --- programs that XLA has partitioned: global arrays are cut by the shardings of the parameters ---
cat >cut.hlo <<'END'
HloModule cut, is_scheduled=true, num_partitions=4
ENTRY e {
  x = s32[2,3] parameter(0), sharding={devices=[4,1]<=[4]}
  w = s32[2] parameter(1), sharding={devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}
  y = s32[2] parameter(2), sharding={devices=[4]3,2,1,0}
  z = s32[2] parameter(3), sharding={replicated}
  ROOT t = (s32[2,3], s32[2], s32[2], s32[2]) tuple(x, w, y, z)
}
END
python3 - <<'END'
import struct, zipfile
def npy(shape):
    count = 1
    for size in shape:
        count *= size
    head = "{'descr': '<i4', 'fortran_order': False, 'shape': %s, }" % (shape,)
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    data = struct.pack("<%di" % count, *range(count))
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data
with zipfile.ZipFile("cut.npz", "w") as archive:
    for k, shape in enumerate(((8, 3), (4,), (8,), (2,))):
        archive.writestr("in%d.npy" % k, npy(shape))
END
expect_exit "global arrays of a partitioned program" 0 "$hlorun" -i cut.npz --output-shards -o cut.txt cut.hlo
for line in 'out0@3 = s32[2,3] {{18, 19, 20}, {21, 22, 23}}' 'out1@0 = s32[2] {0, 1}' 'out1@1 = s32[2] {2, 3}' \
  'out1@2 = s32[2] {0, 1}' 'out2@0 = s32[2] {6, 7}' 'out2@3 = s32[2] {0, 1}' 'out3@2 = s32[2] {0, 1}'; do
  grep -qxF "$line" cut.txt && pass || fail "a part is another: $line" cut.txt
done

# Their results are put together where it follows how they are cut: from the shardings of the parameters, by the operations
# between them and the results.
wholes='{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10, 11}, {12, 13, 14}, {15, 16, 17}, {18, 19, 20}, {21, 22, 23}}'
expect_exit "results that follow" 0 "$hlorun" -i cut.npz cut.hlo
for line in "out0 = s32[8,3] $wholes" "out1 = s32[4] {0, 1, 2, 3}" "out2 = s32[8] {0, 1, 2, 3, 4, 5, 6, 7}" "out3 = s32[2] {0, 1}"; do
  expect_text "results that follow" "$line"
done
if grep -q "warning" "$work/out"; then fail "results that follow, and a warning" "$work/out"; else pass; fi
expect_exit "results of parts" 0 "$hlorun" --random-inputs cut.hlo
expect_text "results of parts" "out0 = s32[2,3]"
cat >follow.hlo <<'END'
HloModule follow, is_scheduled=true, num_partitions=4
add { a = s32[] parameter(0)
 b = s32[] parameter(1)
 ROOT c = s32[] add(a, b) }
body { s = (s32[], s32[2,3]) parameter(0)
 i = s32[] get-tuple-element(s), index=0
 one = s32[] constant(1)
 next = s32[] add(i, one)
 v = s32[2,3] get-tuple-element(s), index=1
 ROOT t = (s32[], s32[2,3]) tuple(next, v) }
condition { s = (s32[], s32[2,3]) parameter(0)
 i = s32[] get-tuple-element(s), index=0
 two = s32[] constant(2)
 ROOT c = pred[] compare(i, two), direction=LT }
ENTRY e {
  x = s32[2,3] parameter(0), sharding={devices=[4,1]<=[4]}
  w = s32[2] parameter(1), sharding={devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}
  zero = s32[] constant(0)
  start = (s32[], s32[2,3]) tuple(zero, x)
  end = (s32[], s32[2,3]) while(start), condition=condition, body=body
  looped = s32[2,3] get-tuple-element(end), index=1
  turned = s32[3,2] transpose(looped), dimensions={1,0}
  whole = s32[8,3] all-gather(x), channel_id=1, replica_groups=[1,4]<=[4], dimensions={0}, use_global_device_ids=true
  rows = s32[2] reduce(x, zero), dimensions={1}, to_apply=add
  sum = s32[2] all-reduce(w), channel_id=2, replica_groups={{0,2},{1,3}}, use_global_device_ids=true, to_apply=add
  flat = s32[6] bitcast(x)
  some = s32[2,2] slice(x), slice={[0:2], [1:3]}
  ROOT t = (s32[3,2], s32[8,3], s32[2], s32[2], s32[6], s32[2,2]) tuple(turned, whole, rows, sum, flat, some)
}
END
python3 -c 'import zipfile; z = zipfile.ZipFile("cut.npz"); o = zipfile.ZipFile("two.npz", "w"); [o.writestr(n, z.read(n)) for n in ("in0.npy", "in1.npy")]'
expect_exit "results through operations" 0 "$hlorun" -i two.npz follow.hlo
for line in "out0 = s32[3,8] {{0, 3, 6, 9, 12, 15, 18, 21}" "out1 = s32[8,3] $wholes" "out2 = s32[8] {3, 12, 21, 30, 39, 48, 57, 66}" \
  "out3 = s32[4] {0, 2, 4, 6}" "out4 = s32[24] {0, 1, 2, 3, 4" "out5 = s32[8,2] {{1, 2}, {4, 5}"; do
  expect_text "results through operations" "$line"
done
# Members of a group that hold different parts get the same sum: this is no array that XLA has cut. shard_map is not, either.
sed 's/replica_groups={{0,2},{1,3}}/replica_groups={{0,1},{2,3}}/' follow.hlo >no_array.hlo
sed 's|slice={.0:2., .1:3.}|&, metadata={op_name="jit(f)/shard_map/slice"}|' follow.hlo >manual.hlo
sed 's/tuple(turned, whole/tuple(turned, made/; s/^  rows/  made = s32[8,3] broadcast(zero), dimensions={}\n&/' follow.hlo >made.hlo
for file in no_array manual made; do
  expect_exit "results that do not follow, $file" 0 "$hlorun" -i two.npz $file.hlo
  expect_text "results that do not follow, $file" "does not say how its results are cut"
  expect_text "results that do not follow, $file" "out0 = s32[3,2]"
done

# Else somebody must say it: the options, or XLA in the proto.
sed 's/, w, y, z)/, w2, z)/; s/(x,/(x2,/; s/(s32.2,3., s32.2., s32.2., s32.2.)/(s32[2,3], s32[2], s32[2])/
  s/^  ROOT/  w2 = s32[2] collective-permute(w), source_target_pairs={{0,0},{1,1},{2,2},{3,3}}, channel_id=2\n&/
  s/^  w2/  x2 = s32[2,3] collective-permute(x), source_target_pairs={{0,0},{1,1},{2,2},{3,3}}, channel_id=1\n&/' cut.hlo >parts.hlo
expect_exit "parts" 0 "$hlorun" -i cut.npz parts.hlo && expect_text "parts" "out0 = s32[2,3] {{0, 1, 2}, {3, 4, 5}}"
expect_text "parts" "does not say how its results are cut"
python3 -c 'import zipfile; z = zipfile.ZipFile("cut.npz"); zipfile.ZipFile("whole.npz", "w").writestr("out0.npy", z.read("in0.npy"))'
expect_exit "parts, compared" 2 "$hlorun" -i cut.npz --expect whole.npz parts.hlo
expect_text "parts, compared" "does not say how its results are cut: --mesh x=4 --sharding 'out0=x,-;out1=-;out2=-'"
python3 -c 'import zipfile; z = zipfile.ZipFile("cut.npz"); zipfile.ZipFile("whole1.npz", "w").writestr("out1.npy", z.read("in1.npy"))'
expect_exit "parts of two, compared" 2 "$hlorun" -i cut.npz --expect whole1.npz parts.hlo
expect_text "parts of two, compared" "--mesh x=2,y=2 --sharding 'out0=-;out1=x;out2=-'"
expect_exit "parts put together, compared" 0 "$hlorun" -i cut.npz --mesh a=2,b=2 --sharding 'out0=a+b,-;out1=b;out2=-' \
  --expect whole.npz parts.hlo
expect_exit "parts put together" 0 "$hlorun" -i cut.npz --mesh a=2,b=2 --sharding 'out0=a+b,-;out1=b;out2=-' parts.hlo
expect_text "parts put together" "out0 = s32[8,3] $wholes" && expect_text "parts put together" "out1 = s32[4] {0, 1, 2, 3}"
expect_exit "some of the parts" 2 "$hlorun" -i cut.npz --mesh a=2,b=2 --sharding 'out0=a+b' parts.hlo
expect_text "some of the parts" "nothing about out1"
expect_exit "parts without a mesh" 2 "$hlorun" -i cut.npz --sharding 'out0=a+b' parts.hlo
expect_exit "parts of another mesh" 2 "$hlorun" -n 4 -i cut.npz --mesh a=2 --sharding 'out0=a' parts.hlo
"$hlorun" convert -o parts.pb parts.hlo
python3 - <<'END'
tiles = b"\x08\x03\x1a\x02\x04\x01\x4a\x01\x04\x52\x01\x00"
last = b"\x08\x03\x1a\x02\x02\x02\x30\x01\x4a\x02\x02\x02\x52\x02\x01\x00"
def field(number, data):
    return bytes([number << 3 | 2, len(data)]) + data
tuples = b"\x08\x02" + field(5, tiles) + field(5, last) + field(5, b"")
open("told.pb", "wb").write(open("parts.pb", "rb").read() + field(12, tuples))
open("few.pb", "wb").write(open("parts.pb", "rb").read() + field(12, b"\x08\x02" + field(5, tiles)))
END
expect_exit "parts of a proto" 0 "$hlorun" -i cut.npz -o whole.txt told.pb
for line in "out0 = s32[8,3] $wholes" 'out1 = s32[4] {0, 1, 2, 3}' 'out2 = s32[2] {0, 1}'; do
  grep -qxF "$line" whole.txt && pass || fail "a whole is another: $line" whole.txt
done
expect_exit "a proto with too few of them" 3 "$hlorun" -i cut.npz few.pb

# As many processes as GSPMD's annotations name, where the header counts none.
cat >manual.hlo <<'END'
HloModule manual
ENTRY e {
  x = f32[4] parameter(0)
  s = f32[4] custom-call(x), custom_call_target="Sharding", sharding={devices=[2]<=[2]}
  part = f32[2] custom-call(s), custom_call_target="SPMDFullToShardShape", sharding={manual}
  y = f32[2] add(part, part)
  c = f32[2] custom-call(y), custom_call_target="Sharding", sharding={manual}
  ROOT z = f32[4] custom-call(c), custom_call_target="SPMDShardToFullShape", sharding={devices=[2]<=[2]}
}
END
expect_exit "as many processes as annotations name" 0 "$hlorun" -i '0=f32[4]{1,2,3,4}' manual.hlo
expect_text "as many processes as annotations name" "out0 = f32[4] {2, 4, 6, 8}"
mkdir case && cp manual.hlo case && "$hlorun" -i '0=f32[4]{1,2,3,4}' -o case/manual.npz manual.hlo
expect_exit "a case with as many processes as annotations name" 0 "$hlorun" test --list case
expect_text "a case with as many processes as annotations name" "$(printf 'case/manual.hlo\t2')"

# A dump of Shardy: ops of several results have a sharding for each, and rules that do not tell windows.
cat >dump.mlir <<'END'
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["d"=2]>
  func.func @main(%x: tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}]>}, tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) {
    %zero = sdy.constant dense<0.0> : tensor<f32>
    %i = sdy.constant dense<0> : tensor<i32>
    %one = sdy.constant dense<1> : tensor<i32>
    %two = sdy.constant dense<2> : tensor<i32>
    %0:2 = stablehlo.while(%k = %i, %v = %x) : tensor<i32>, tensor<4x3xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"d"}, {}]>]>}
     cond {
      %more = stablehlo.compare LT, %k, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %k, %one : tensor<i32>
      %twice = stablehlo.add %v, %v : tensor<4x3xf32>
      stablehlo.return %next, %twice : tensor<i32>, tensor<4x3xf32>
    }
    %1:2 = stablehlo.reduce(%0#1 init: %zero), (%0#1 init: %zero) across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"d"}]>, <@mesh, [{"d"}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j], [], [])->([i], [i]) {i=4, j=3} reduction={j}>} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
     reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<f32>, %d: tensor<f32>) {
      %s = stablehlo.add %a, %b : tensor<f32>
      %t = stablehlo.maximum %c, %d : tensor<f32>
      stablehlo.return %s, %t : tensor<f32>, tensor<f32>
    }
    %2 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 1, 2>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"d"}, {}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [])->([i, j]) {i=4, j=2} permutation={j}>} : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x2xf32>
    return %1#0, %2 : tensor<4xf32>, tensor<4x2xf32>
  }
}
END
expect_exit "a dump of Shardy" 0 "$hlorun" -i '0=f32[4,3]{{1,2,3},{4,5,6},{7,8,9},{1,1,1}}' dump.mlir
expect_text "a dump of Shardy" "out0 = f32[4] {24, 60, 96, 12}"
expect_text "a dump of Shardy" "out1 = f32[4,2] {{3, 5}, {9, 11}, {15, 17}, {2, 2}}"
finish
