#!/usr/bin/env bash
# Files that hlorun writes, loaded by JAX and run on XLA:CPU: each program of the corpora in one of the forms, in turn.
# JAX_PYTHON names a Python that has jax (default: python3); without jax there is nothing to do. HLORUN_CORPORA adds the
# programs of its folder ops/. JAX_EVERY=N takes every Nth program (default 3).
set -u
. "$(dirname "$0")/common.sh"
python=${JAX_PYTHON:-python3}
every=${JAX_EVERY:-3}

if ! "$python" -c 'import jax, jaxlib, ml_dtypes' 2>/dev/null; then
  skip "JAX is not installed (JAX_PYTHON)"
  finish
fi

# JAX's own version of StableHLO, and for custom calls of the typed interface the first that has them.
latest=$("$python" -c 'import jaxlib.mlir.dialects.stablehlo as s; print(s.get_current_version())')
oldest_for() { # PROGRAM
  if grep -q API_VERSION_TYPED_FFI "$1"; then echo 1.3.0; else echo 1.0.0; fi
}

write() { # PROGRAM FILE OPTIONS...
  local program=$1 file=$2
  shift 2
  expect_exit "$program to ${file##*/}" 0 "$hlorun" convert "$@" -o "$file" "$program" \
    && echo "$file ${program%.hlo}.npz" >>"$work/list"
}

number=0
: >"$work/list"
while read -r program; do
  number=$((number + 1))
  [ $((number % every)) -eq 0 ] && [ -f "${program%.hlo}.npz" ] || continue
  base=$work/$number
  case $((number / every % 6)) in
    0) write "$program" "$base.mlir" ;;
    1) write "$program" "$base.mlirbc" ;;
    2) write "$program" "$base.p.mlirbc" "--target-version=$latest" ;;
    3) write "$program" "$base.p.mlirbc" "--target-version=$(oldest_for "$program")" ;;
    4) write "$program" "$base.pb" ;;
    5) write "$program" "$base.hlo" ;;
  esac
done < <(find "$source_dir/tests/corpora" ${HLORUN_CORPORA:+"$HLORUN_CORPORA/ops"} -name '*.hlo' | sort)

# Those that say everything that the IR can hold are only loaded.
for form in mlir mlirbc p.mlirbc pb hlo; do
  option=
  [ "$form" != p.mlirbc ] || option=--target-version=$latest
  expect_exit "fields.hlo to $form" 0 "$hlorun" convert $option -o "$work/fields.$form" \
    "$source_dir/tests/conversions/fields.hlo" &&
    echo "$work/fields.$form" >>"$work/list"
done
for form in mlir mlirbc; do
  expect_exit "collectives of sdy to $form" 0 "$hlorun" convert -o "$work/sdy.$form" \
    "$source_dir/tests/partition/forms_of_collectives.mlir" && echo "$work/sdy.$form" >>"$work/list"
done
timeout 900 "$python" "$source_dir/tests/tools/load_in_jax.py" <"$work/list" >"$work/out" 2>&1
grep -v '^[0-9]* passed' "$work/out" | tail -n 40
add_counts "$work/out" || fail "load_in_jax.py" "$work/out"
finish
