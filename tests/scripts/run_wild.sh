#!/usr/bin/env bash
# Both engines on wild inputs: NaN, infinities, zeros of both signs, denormal and huge numbers, ends
# of integers, indices out of range. Programs are those of tests/corpora/ops, tests/cases and tests/denormals; what need
# not agree is in tests/corpora/wild.list with its reason. WILD_SEEDS lists the seeds.
set -u
. "$(dirname "$0")/common.sh"

list=$source_dir/tests/corpora/wild.list
# patterns KIND: of the list, one a line.
patterns() { awk -v kind="$1" '$1 == kind { print $2 }' "$list"; }

patterns skip >"$work/skip"
patterns differs >"$work/differs"
find "$source_dir"/tests/{cases,denormals} -maxdepth 1 -name '*.npz' | sort | sed 's/\.npz$//' |
  while read -r case; do ls "$case".hlo "$case".mlir 2>/dev/null; done | grep -Evf "$work/skip" >"$work/cases"

for seed in ${WILD_SEEDS:-1 2}; do
  # shellcheck disable=SC2046
  timeout -k 5 300 "$hlorun" test --denormals keep --timeout 30 --wild-inputs="$seed" "$source_dir/tests/corpora/ops" \
    $(cat "$work/cases") >"$work/out" 2>&1 </dev/null
  grep '^FAIL' "$work/out" | sed 's/^FAIL \([^:]*\):.*/\1/' >"$work/failed"
  listed=$(grep -cEf "$work/differs" "$work/failed")
  counts=$(tail -n 1 "$work/out")
  case $counts in
    *" passed, "*" failed"*) ;;
    *) fail "hlorun test --wild-inputs=$seed" "$work/out"; continue ;;
  esac
  # Listed programs that differ are as they should be.
  echo "$counts" | awk -v listed="$listed" '{ printf "%d passed, %d failed\n", $1 + listed, $3 - listed }' \
    >"$work/counts"
  add_counts "$work/counts"
  grep -Evf "$work/differs" "$work/failed" >"$work/wrong"
  grep -Ff "$work/wrong" "$work/out" | sed "s/^/seed $seed: /"
done

# Programs that have no arrays beside them.
for program in "$source_dir"/tests/corpora/wild/*.hlo; do
  for seed in 1 2 3 4; do
    name="wild inputs $seed of $(basename "$program")"
    expect_exit "$name, reference" 0 "$hlorun" --denormals keep --engine reference --wild-inputs=$seed -o "$work/want.npz" "$program"
    expect_exit "$name" 0 "$hlorun" --denormals keep --wild-inputs=$seed --expect "$work/want.npz" "$program"
  done
done

# Denormal numbers are zeros in arithmetic, also on workers, and stay what they are where they are moved; with
# --denormals keep arithmetic keeps them, too.
cat >"$work/denormal.hlo" <<'PROGRAM'
HloModule denormal
ENTRY e {
  x = f32[100000] parameter(0)
  two = f32[] constant(2)
  twos = f32[100000] broadcast(two), dimensions={}
  twice = f32[100000] multiply(x, twos)
  turned = f32[100000] reverse(x), dimensions={0}
  product = f32[1] slice(twice), slice={[7:8]}
  moved = f32[1] slice(turned), slice={[7:8]}
  ROOT all = (f32[1], f32[1]) tuple(product, moved)
}
PROGRAM
# write_pair FILE PRODUCT: what the program gives.
write_pair() {
  echo "HloModule pair
    ENTRY e { a = f32[1] constant({$2}) b = f32[1] constant({1e-40}) ROOT r = (f32[1], f32[1]) tuple(a, b) }" >"$work/pair.hlo"
  expect_exit "a product of $2" 0 "$hlorun" -o "$1" "$work/pair.hlo"
}
write_pair "$work/flushed.npz" 0
write_pair "$work/kept.npz" 2e-40
for engine in compiled reference; do
  run=("$hlorun" --engine $engine -i 0=1e-40 --ulp 0)
  expect_exit "denormal numbers, $engine" 0 "${run[@]}" -e "$work/flushed.npz" "$work/denormal.hlo"
  expect_exit "--flush-denormals, $engine" 0 "${run[@]}" --flush-denormals -e "$work/flushed.npz" "$work/denormal.hlo"
  expect_exit "--denormals keep, $engine" 0 "${run[@]}" --denormals keep -e "$work/kept.npz" "$work/denormal.hlo"
done

# In products of matrices and convolutions they are zeros in both engines; what is fused with a product keeps them.
cat >"$work/products.hlo" <<'PROGRAM'
HloModule products
ENTRY e {
  x = f32[512,256] parameter(0)
  image = f32[8,16,16,8] parameter(1)
  taps = f32[3,3,8,8] parameter(2)
  w = f32[512,256] parameter(3)
  small = f32[3,4] slice(x), slice={[0:3],[0:4]}
  large = f32[3,4] slice(w), slice={[0:3],[0:4]}
  product = f32[512,512] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  twice = f32[512,512] add(product, product)
  tiny = f32[3,3] dot(small, large), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  windows = f32[8,14,14,8] convolution(image, taps), window={size=3x3}, dim_labels=b01f_01io->b01f
  least = f32[] constant(1e-40)
  leasts = f32[512,512] broadcast(least), dimensions={}
  more = f32[512,512] add(twice, leasts)
  corner = f32[1,1] slice(more), slice={[0:1],[0:1]}
  end = f32[1,1] slice(more), slice={[511:512],[511:512]}
  first = f32[1,1] maximum(corner, end)
  one = f32[1,1] slice(tiny), slice={[0:1],[0:1]}
  window = f32[1,1,1,1] slice(windows), slice={[0:1],[0:1],[0:1],[0:1]}
  ROOT all = (f32[1,1], f32[1,1], f32[1,1,1,1]) tuple(first, one, window)
}
PROGRAM
echo 'HloModule want
  ENTRY e { a = f32[1,1] constant({{1e-40}}) b = f32[1,1] constant({{0}}) c = f32[1,1,1,1] constant({{{{0}}}})
  ROOT r = (f32[1,1], f32[1,1], f32[1,1,1,1]) tuple(a, b, c) }' >"$work/want.hlo"
expect_exit "what products give" 0 "$hlorun" -o "$work/want.npz" "$work/want.hlo"
for engine in compiled reference; do
  run=("$hlorun" --denormals keep --engine $engine -i 0=1e-40 -i 1=1e-40 -i 2=1e30 -i 3=1e30 --ulp 0)
  expect_exit "denormal numbers in products, $engine" 0 "${run[@]}" -e "$work/want.npz" "$work/products.hlo"
done
finish
