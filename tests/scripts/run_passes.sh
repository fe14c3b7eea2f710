#!/usr/bin/env bash
# The passes keep what programs mean. Every case of the folders given is run through them, and what comes out must read
# back and give the same results in the reference engine. Without folders: the examples, the cases and the corpora,
# those in HLORUN_CORPORA too.
set -u
. "$(dirname "$0")/common.sh"

folders=("$@")
if [ $# -eq 0 ]; then
  folders=("$source_dir/examples" "$source_dir/tests/cases" "$source_dir"/tests/corpora/{ops,spmd})
  [ -z "${HLORUN_CORPORA:-}" ] || folders+=("$HLORUN_CORPORA/ops" "$HLORUN_CORPORA/spmd")
fi
unset HLORUN_CORPORA

# The arrays of a program, if it is a case.
arrays_of() {
  local beside=${1%.*}.npz folder
  folder=$(dirname "$1")/io.npz
  if [ -f "$beside" ]; then echo "$beside"; elif [ -f "$folder" ]; then echo "$folder"; fi
}

# Left out: programs without arrays, and those whose arrays are cut by what they say about meshes, which is not part of
# the program any more when it is printed.
optimise() {
  local program=$1 number=$2 arrays after
  arrays=$(arrays_of "$program")
  [ -n "$arrays" ] || return
  if grep -qE 'xla\.sdy|sdy\.|mhlo\.sharding' "$program"; then return; fi
  mkdir "$work/cases/$number"
  after=$work/cases/$number/$(basename "${program%.*}")
  ln -s "$(realpath "$arrays")" "$after.npz"
  expect_exit "the passes on $program" 0 env HLORUN_VERIFY=1 "$hlorun" run --stop-after passes -o "$after.hlo" \
    "$program"
}

mkdir "$work/cases"
number=0
while read -r program; do
  number=$((number + 1))
  optimise "$program" "$number"
done < <(find "${folders[@]}" \( -name '*.hlo' -o -name '*.mlir' \) -not -path '*/invalid/*' \
  -not -path '*/schedule/*' | sort)

timeout -k 5 900 "$hlorun" test "$work/cases" >"$work/report" 2>&1 </dev/null
add_counts "$work/report" || fail "hlorun test of what came out" "$work/report"
[ "$failed" -eq 0 ] || grep -v '^passed' "$work/report" | head -n 200
finish
