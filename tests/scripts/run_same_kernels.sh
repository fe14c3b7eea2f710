#!/usr/bin/env bash
# Equal programs on equal inputs give equal bits in every process: kernels are chosen by the program, the
# processor, the libraries and the number of threads, never by the time that something took. Convolutions
# that are left to oneDNN, where there are several ways, run in fresh processes with empty caches, several
# at a time so that times differ; which way was chosen is in the log.
set -u
. "$(dirname "$0")/common.sh"
cd "$work" || exit 99
runs=5

# program NAME LINES: NAME.hlo, whose operands a and b are declared in the lines.
program() {
  printf 'HloModule %s\nENTRY e {\n%s\n}\n' "$1" "$2" >"$1.hlo"
}
program groups '  a = f32[16,36,5,128] parameter(0)
  b = f32[5,5,4,512] parameter(1)
  ROOT r = f32[16,18,1,512] convolution(a, b),
    window={size=5x5 stride=2x5 pad=2_2x4_4 rhs_dilate=1x2},
    dim_labels=b01f_01io->b01f, feature_group_count=32'
program groups_outermost '  a = f32[1,4,18,19,7] parameter(0)
  b = f32[4,5,7,1,260] parameter(1)
  ROOT r = f32[1,260,17,7,2] convolution(a, b),
    window={size=4x5x7 stride=1x3x5 pad=1_1x4_4x3_3 rhs_dilate=1x2x1},
    dim_labels=bf012_012io->bf012, feature_group_count=4'
program two_groups '  a = f32[1,9,9,12,4] parameter(0)
  b = f32[3,7,11,2,200] parameter(1)
  ROOT r = f32[1,3,5,4,200] convolution(a, b),
    window={size=3x7x11 stride=4x2x3 pad=1_1x3_3x10_10 rhs_dilate=1x1x2},
    dim_labels=b012f_012io->b012f, feature_group_count=2'
program of_input_outermost '  a = f32[4,2,52,18] parameter(0)
  b = f32[11,3,24,2] parameter(1)
  ROOT r = f32[4,24,52,53] convolution(a, b),
    window={size=11x3 pad=10_10x1_2 lhs_dilate=1x3 rhs_dilate=2x1 rhs_reversal=1x1},
    dim_labels=bf01_01oi->bf01'
program of_weights '  a = bf16[1,62,58,5] parameter(0)
  b = bf16[1,31,58,48] parameter(1)
  ROOT r = bf16[3,11,5,48] convolution(a, b),
    window={size=31x58 stride=2x1 pad=2_1x5_5 rhs_dilate=2x1},
    dim_labels=f01b_i01o->01bf'
program of_few_weights '  a = f32[8,39,11,2] parameter(0)
  b = f32[8,13,11,64] parameter(1)
  ROOT r = f32[5,5,2,64] convolution(a, b),
    window={size=13x11 stride=2x1 pad=4_2x2_2 rhs_dilate=3x1},
    dim_labels=f01b_i01o->01bf'
program of_weights_outermost '  a = bf16[4,48,28,49] parameter(0)
  b = bf16[4,256,6,17] parameter(1)
  ROOT r = bf16[1,2,48,256] convolution(a, b),
    window={size=6x17 stride=1x2 pad=0_-2x1_1 rhs_dilate=5x3},
    dim_labels=fb01_io01->01bf'
program volume '  a = bf16[4,9,20,15,5] parameter(0)
  b = bf16[4,9,20,3,32] parameter(1)
  ROOT r = bf16[1,3,2,5,32] convolution(a, b),
    window={size=9x20x3 stride=1x1x2 pad=0_0x1_1x1_-3 rhs_dilate=1x1x5},
    dim_labels=f012b_i012o->012bf'

# Several processes at a time, each with an empty folder for compiled code.
run_all() { # NAME OPTION...
  local name=$1 k
  shift
  for ((k = 0; k < runs; k++)); do
    HLORUN_LOG=plan:debug HLORUN_CACHE=$work/cache.$k "$hlorun" --random-inputs --output "$name.$k.npz" "$@" \
      >"$name.$k.log" 2>&1 </dev/null &
  done
  wait
  rm -rf "$work"/cache.*
}
check_equal() { # NAME
  local k
  for ((k = 0; k < runs; k++)); do
    sed -n 's/^.*convolution by oneDNN/convolution by oneDNN/p' "$1.$k.log" | sort >"$1.$k.chosen"
    if [ -s "$1.$k.npz" ]; then pass; else fail "$1: run $k" "$1.$k.log"; fi
    if grep -q ': convolution by .* kernel: ' "$1.$k.log"; then pass; else fail "$1: run $k does not say the kernel"; fi
    if cmp -s "$1.0.npz" "$1.$k.npz"; then pass; else fail "$1: other bits in run $k"; fi
    if cmp -s "$1.0.chosen" "$1.$k.chosen"; then pass; else fail "$1: other kernels in run $k" "$1.$k.chosen"; fi
  done
}
for file in *.hlo; do
  for threads in 1 2; do
    name=${file%.hlo}.$threads
    run_all "$name" --threads "$threads" "$file"
    check_equal "$name"
  done
done
# With peers: all choose the same.
leak_check_off
runs=2
run_all peers -n 2 --threads 1 of_weights.hlo
check_equal peers
if [ "$(uniq peers.0.chosen | wc -l)" -le 1 ]; then pass; else fail "peers choose other kernels" peers.0.chosen; fi
# Something was chosen at all, where there is oneDNN.
if grep -q onednn "$build_dir/config.log" 2>/dev/null || ls /usr/lib/*/libdnnl.so.2 >/dev/null 2>&1; then
  if cat ./*.chosen | grep -q gemm; then pass; else fail "no program is left to products of oneDNN's"; fi
else
  skip "no oneDNN"
fi
finish
