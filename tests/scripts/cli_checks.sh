#!/usr/bin/env bash
# The commands that compare: probes, hlorun test, and programs that check themselves.
set -u
. "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$work" || exit 99
examples=$source_dir/examples
. "$here/cli_programs.sh"

# --- probes: a file for each visit, and an index ---
cat >loop.hlo <<'EOT'
HloModule loop
body {
  p = (s32[], f32[3]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[3] get-tuple-element(p), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  double = f32[3] add(x, x)
  ROOT t = (s32[], f32[3]) tuple(next, double)
}
cond {
  p = (s32[], f32[3]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(2)
  ROOT less = pred[] compare(i, n), direction=LT
}
ENTRY e {
  a = f32[3] parameter(0)
  z = s32[] constant(0)
  st = (s32[], f32[3]) tuple(z, a)
  w = (s32[], f32[3]) while(st), condition=cond, body=body
  ROOT r = f32[3] get-tuple-element(w), index=1
}
EOT
for engine in compiled reference; do
  expect_exit "--probe" 0 "$hlorun" --engine $engine --probe 'double|^r$' --dump seen -i '0=f32[3]{1,2,3}' loop.hlo
  cp seen/index.csv "$work/out"
  expect_text "--probe, the index" "double,tensor<3xf32>,seen/probe2.npy"
  expect_exit "--probe, the last value" 0 "$hlorun" -i 0=seen/probe3.npy -i 1=seen/probe3.npy "$examples/hello.hlo" &&
    expect_text "--probe, the last value" "{8, 16, 24}"
done
expect_exit "HLORUN_PROBE" 0 env HLORUN_PROBE=next "$hlorun" "$source_dir/tests/cases/interpreter_probe.mlir"
cp probes/index.csv "$work/out"
expect_text "HLORUN_PROBE, the program's own probe" "next/i,tensor<i64>,probes/probe1.npy"
expect_exit "--probe, no expression" 2 "$hlorun" --probe '(' loop.hlo

# --- test ---
expect_exit "test passes" 0 "$hlorun" test "$examples/hello.hlo"
[ "$(tail -n 1 "$work/out")" = "1 passed, 0 failed" ] && pass || fail "last line of test" "$work/out"
mkdir cases && cp "$examples/hello.hlo" "$examples/hello.npz" twice.hlo cases
expect_exit "test of a folder" 0 "$hlorun" test cases
expect_text "test of a folder" "1 program is no case, such as cases/twice.hlo: neither twice.npz nor io.npz beside it"
expect_exit "test --list" 0 "$hlorun" test --list cases && expect_text "test --list" "no case: cases/twice.hlo"
mkdir none && cp twice.hlo none
expect_exit "test of no file" 5 "$hlorun" test none.hlo && expect_text "test of no file" "cannot open none.hlo: No such file"
expect_exit "test of no case" 2 "$hlorun" test none && expect_text "test of no case" "found in none"
mkdir shared && cp "$examples/hello.npz" shared/io.npz && cp "$examples/hello.hlo" shared/a.hlo
cp shared/a.hlo shared/b.hlo
expect_exit "several programs with io.npz" 0 "$hlorun" test shared && expect_text "several programs with io.npz" "2 passed"
cp "$examples/hello.hlo" bad.hlo && cp "$examples/newton.npz" bad.npz
expect_exit "test fails" 1 "$hlorun" test bad.hlo

# --- programs that check themselves ---
check_program() {
  printf 'func.func @main() {\n  %%x = stablehlo.constant dense<[1.0, %s]> : tensor<2xf32>\n' "$1"
  printf '  check.expect_eq_const %%x, dense<[1.0, 2.0]> : tensor<2xf32>\n  func.return\n}\n'
}
{ check_program 2.0; echo '// -----'; check_program 2.5; } >checks.mlir
check_program 2.5 >one.mlir
expect_exit "a check that fails" 1 "$hlorun" one.mlir && expect_text "a check that fails" "element [1]: got 2.5, want 2"
expect_exit "a check that fails in the second module" 1 "$hlorun" test checks.mlir
expect_text "a check that fails in the second module" "checks.mlir:9:3"
finish

# --- libraries: functions without an entry ---
cat >library.mlir <<'EOT'
func.func private @elsewhere() -> !stablehlo.future<tensor<f32>>
func.func private @one(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = stablehlo.add %x, %x : tensor<2xf32>
  return %y : tensor<2xf32>
}
func.func private @two(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = func.call @one(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
EOT
expect_exit "a library" 0 "$hlorun" check library.mlir && expect_text "a library" "library of 3 functions"
expect_exit "a library as bytecode" 0 "$hlorun" convert --to mlirbc -o library.mlirbc library.mlir
expect_exit "a library as bytecode" 0 "$hlorun" check library.mlirbc
expect_exit "a library as HLO" 3 "$hlorun" convert --to hlo library.mlir && expect_text "a library as HLO" "library.mlir:1:1"
expect_exit "a library that is run" 3 "$hlorun" library.mlir && expect_text "a library that is run" "want @main"
expect_exit "a library beside a program" 3 "$hlorun" check library.mlir twice.hlo
expect_text "a library beside a program" "want a program"
sed 's/stablehlo.add %x, %x : tensor<2xf32>/stablehlo.add %x, %x : tensor<3xf32>/' library.mlir >faulty.mlir
expect_exit "a faulty library" 3 "$hlorun" check faulty.mlir && expect_text "a faulty library" "faulty.mlir:3:8"
echo 'module attributes {a = 1 : i64} {}' >empty.mlir
expect_exit "an empty library" 0 "$hlorun" check empty.mlir
