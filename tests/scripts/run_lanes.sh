#!/usr/bin/env bash
# Elementary functions in loops and rows of all kinds of lengths: below, at and beside multiples of the vectors that are
# computed together. Both engines agree, for every width of vectors.
set -u
. "$(dirname "$0")/common.sh"
cd "$work" || exit 99

functions() { # COUNT
  cat >program.hlo <<EOF
HloModule functions
ENTRY main {
  a = f32[$1] parameter(0)
  t = f32[$1] tanh(a)
  e = f32[$1] exponential(t)
  c = f64[$1] convert(a)
  g = f64[$1] exponential(c)
  l = f64[$1] log-plus-one(g)
  h = f16[$1] convert(a)
  s = f16[$1] logistic(h)
  ROOT r = (f32[$1], f64[$1], f16[$1]) tuple(e, l, s)
}
EOF
}

normalised() { # ROWS COLUMNS
  cat >program.hlo <<EOF
HloModule normalised
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY main {
  a = f32[$1,$2] parameter(0)
  e = f32[$1,$2] exponential(a)
  zero = f32[] constant(0)
  sums = f32[$1] reduce(e, zero), dimensions={1}, to_apply=add
  broad = f32[$1,$2] broadcast(sums), dimensions={0}
  ROOT q = f32[$1,$2] divide(e, broad)
}
EOF
}

compare() { # NAME
  "$hlorun" --engine reference --random-inputs=3 --quiet --output want.npz program.hlo >out 2>&1 || fail "$1: the reference" out
  for bytes in 16 32 64; do
    if HLORUN_VECTOR=$bytes "$hlorun" --engine compiled --random-inputs=3 --quiet --expect want.npz program.hlo >out 2>&1; then
      pass
    else
      fail "$1, vectors of $bytes bytes" out
    fi
  done
}

for count in 1 7 31 32 33 63 64 65 100 1023 1024 1025 1087 4097 70000 196625; do
  functions $count
  compare "functions of $count"
done
for rows_columns in "3 33" "5 64" "7 100" "1 127" "2 1030" "65 130" "9 4096" "300 31"; do
  # shellcheck disable=SC2086 # two numbers
  normalised $rows_columns
  compare "rows of $rows_columns"
done

# Code of LLVM is right for every width where it knows that lanes are 0.
for bytes in 16 32 64; do
  expect_exit "quotients of zeros, vectors of $bytes bytes, LLVM" 0 env HLORUN_VECTOR=$bytes HLORUN_X64=0 \
    "$hlorun" test --engine compiled "$source_dir/tests/cases/quotients_of_zeros.hlo"
done
finish
