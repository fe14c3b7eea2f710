#!/usr/bin/env bash
# The passes keep what programs mean. Every case of the folders given is run through them, and what comes out must read
# back and give the same results in the reference engine. Without folders: the examples, the cases, the goldens and the
# corpus of ops, where HLORUN_CORPORA says it is.
set -u
source_dir=${TEST_SOURCE:-$(cd "$(dirname "$0")/.." && pwd)}
hlorun=${HLORUN:-./hlorun}
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

folders=("$@")
if [ $# -eq 0 ]; then
  folders=("$source_dir/examples" "$source_dir/tests/cases" "$source_dir/tests/passes")
  [ -z "${HLORUN_CORPORA:-}" ] || folders+=("$HLORUN_CORPORA/ops")
fi

# The arrays of a program, if it is a case.
arrays_of() {
  local beside=${1%.*}.npz folder
  folder=$(dirname "$1")/io.npz
  if [ -f "$beside" ]; then echo "$beside"; elif [ -f "$folder" ]; then echo "$folder"; fi
}

# Programs that start processes of their own inside (interpreter.run_parallel) and those for several processes are run
# by others.
optimise_one() {
  local program=$1 number=$2 arrays name
  arrays=$(arrays_of "$program")
  if [ -z "$arrays" ]; then skipped=$((skipped + 1)); return; fi
  name=$work/cases/$number-$(basename "${program%.*}")
  if ! HLORUN_VERIFY=1 "$hlorun" --stop-after passes -o "$name.hlo" "$program" 2>"$work/error"; then
    failed=$((failed + 1))
    echo "FAIL $program: the passes: $(head -3 "$work/error")"
    rm -f "$name.hlo"
    return
  fi
  ln -s "$(realpath "$arrays")" "$name.npz"
}

mkdir "$work/cases"
number=0
while read -r program; do
  number=$((number + 1))
  optimise_one "$program" "$number"
done < <(find "${folders[@]}" \( -name '*.hlo' -o -name '*.mlir' \) -not -path '*/invalid/*' -not -path '*/schedule/*' | sort)

"$hlorun" test "$work/cases" >"$work/report" 2>&1
grep -v "^[0-9]* passed" "$work/report"
summary=$(tail -1 "$work/report")
passed=$(echo "$summary" | sed -n 's/^\([0-9]*\) passed.*/\1/p')
failed=$((failed + $(echo "$summary" | sed -n 's/.* \([0-9]*\) failed.*/\1/p')))
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
