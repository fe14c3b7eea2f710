#!/usr/bin/env bash
# Nothing is lost in conversions that the target can say. fields.hlo holds what the IR can hold: fields.list names the
# text of each field of runtime/ir/module.h, which must come back from every target. ops.hlo has every op of the op
# table but those that a target has no op for (below); a program that came back once comes back the same ever after.
set -u
. "$(dirname "$0")/common.sh"
folder=$source_dir/tests/conversions

# target NAME: file ending and options of a form.
ending() {
  case $1 in
    hlo) echo hlo ;;
    proto) echo pb ;;
    wrapped) echo hlo.pb ;;
    text) echo mlir ;;
    *) echo mlirbc ;;
  esac
}
options() { case $1 in newest) echo --target-version=latest ;; [0-9]*) echo "--target-version=$1" ;; esac; }

# there_and_back PROGRAM TARGET: $work/TARGET.back.hlo is the program out of the target.
there_and_back() {
  local file=$work/$2.$(ending "$2")
  # shellcheck disable=SC2046 # no option, or one
  expect_exit "$(basename "$1") to $2" 0 "$hlorun" convert $(options "$2") -o "$file" "$1" || return
  expect_exit "$(basename "$1") from $2" 0 "$hlorun" convert --to hlo -o "$work/$2.back.hlo" "$file"
}

# --- every field ---

# Fields that the headers declare: "struct field" lines.
declared() {
  awk '/^(typedef )?struct hlo_(extra|metadata|module|instr) \{/ { split($0, w, /struct | \{/); name = w[2]; next }
       /^}/ { name = "" }
       name {
         sub(/\/\*.*/, ""); sub(/ : [0-9]+/, "")
         if ($0 ~ /HR_VEC/) { sub(/.*\) */, "") } else { sub(/^ *(const )?(struct )?[a-z_0-9]+ /, "") }
         gsub(/const|[*;]/, ""); gsub(/,/, " ")
         for (i = 1; i <= NF; i++) if ($i ~ /^[a-z_]+$/) print name, $i
       }' "$source_dir/runtime/ir/module.h"
}
declared | sort -u >"$work/declared"
grep -v '^#' "$folder/fields.list" | awk '{ print $1, $2 }' | sort -u >"$work/listed"
if diff "$work/declared" "$work/listed" >"$work/out"; then
  pass
else
  fail "fields.list names every field" "$work/out"
fi

for target in hlo proto wrapped text bytecode newest 1.0.0 0.9.0; do
  there_and_back "$folder/fields.hlo" "$target" || continue
  while read -r struct field text; do
    case "$text" in -|names) continue ;; esac
    if grep -qF -e "${text%%|*}" -e "${text##*|}" "$work/$target.back.hlo"; then
      pass
    else
      grep -F -e "${text%%=*}" "$work/$target.back.hlo" >"$work/out"
      fail "$struct.$field through $target: $text" "$work/out"
    fi
  done < <(grep -v '^#' "$folder/fields.list")
done

# --- every op ---

# StableHLO's forms dissolve these into others: what tuples hold, starts and their dones, formulas.
dissolved='bitcast copy copy-start copy-done domain add-dependency fusion async-start async-update async-done
  all-reduce-start all-reduce-done all-gather-start all-gather-done collective-permute-start collective-permute-done
  cosh sinh dynamic-gather'
# These it has no form for; the converter says so.
refused='stochastic-convert scaled-dot rng-get-and-update-state'

names() { "$hlorun" --list-ops | awk 'NR > 1 { print $1 }'; }
has_op() { grep -qE " $2\(" "$1"; }

cp "$folder/ops.hlo" "$work/ops.hlo"
for target in hlo proto text bytecode; do there_and_back "$work/ops.hlo" "$target"; done
expect_same() { # NAME FILE FILE
  if diff "$2" "$3" >"$work/out"; then pass; else fail "$1" "$work/out"; fi
}
expect_same "ops.hlo through a proto" "$work/hlo.back.hlo" "$work/proto.back.hlo"
expect_same "ops.hlo through text and bytecode" "$work/text.back.hlo" "$work/bytecode.back.hlo"
expect_some "ops" 130 "$(names | wc -l)"
for op in $(names); do
  case " $(echo $dissolved $refused) " in *" $op "*) continue ;; esac
  if has_op "$work/hlo.back.hlo" "$op"; then pass; else fail "ops.hlo has no $op"; continue; fi
  if has_op "$work/text.back.hlo" "$op"; then pass; else fail "$op is lost in StableHLO"; fi
done

# Attributes by name: as many as before, or more where a form is written out.
count() { grep -c ", $2=" "$1"; }
keys=$(grep -oE ', [a-z_]+=' "$work/hlo.back.hlo" | tr -d ', =' | sort -u)
expect_some "attributes" 30 "$(wc -w <<<"$keys")"
for key in $keys; do
  if [ "$(count "$work/text.back.hlo" "$key")" -ge "$(count "$work/hlo.back.hlo" "$key")" ]; then pass; else
    fail "$key: $(count "$work/hlo.back.hlo" "$key") times, $(count "$work/text.back.hlo" "$key") after StableHLO"; fi
done

# --- what StableHLO and XLA define otherwise ---

cp "$source_dir/tests/cases/meaning_of_hlo.npz" "$work/io.npz"
for target in hlo proto text bytecode; do
  there_and_back "$source_dir/tests/cases/meaning_of_hlo.hlo" "$target"
  for program in "$work/$target.$(ending "$target")" "$work/$target.back.hlo"; do
    expect_exit "meaning of $(basename "$program")" 0 "$hlorun" -n 4 --input "$work/io.npz" --expect "$work/io.npz" "$program"
  done
done

# StableHLO's reductions have the type of their function, its all_to_all lists its processes; bounds are one at most.
cat >"$work/widened.hlo" <<'END'
HloModule widened, replica_count=2
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY main {
  x = bf16[4] parameter(0)
  all = bf16[4] all-reduce(x), replica_groups={}, to_apply=sum
  part = bf16[2] reduce-scatter(x), replica_groups={{0,1}}, dimensions={0}, to_apply=sum
  swapped = bf16[4] all-to-all(all), replica_groups={}, dimensions={0}
  ROOT r = (bf16[2], bf16[4]) tuple(part, swapped)
}
END
for target in text bytecode; do
  there_and_back "$work/widened.hlo" "$target"
  for program in "$work/widened.hlo" "$work/$target.back.hlo"; do
    expect_exit "wider sums of $(basename "$program")" 0 "$hlorun" -n 2 -i '0=bf16[4]{1,2,3,4}' "$program"
    expect_text "wider sums of $(basename "$program")" "out1 = bf16[4] {2, 4, 2, 4}"
  done
done
cat >"$work/bounds.hlo" <<'END'
HloModule bounds
ENTRY main {
  x = f32[<=4,<=6] parameter(0)
  ROOT r = f32[<=6,<=4] reshape(x)
}
END
expect_exit "a reshape with two bounds to mlir" 3 "$hlorun" convert --to mlir -o "$work/bounds.mlir" "$work/bounds.hlo"
expect_text "a reshape with two bounds to mlir" "bounds.hlo:4:"

# --- recognition ---

# The length of a proto's name is a byte of text, too: 34 is a quote, 33 and 35 begin aliases of MLIR.
for size in 9 10 32 33 34 35 40 47 109 123; do
  name=$(printf '%*s' $size '' | tr ' ' m)
  printf 'HloModule %s\n\nENTRY main {\n  ROOT x = f32[3] parameter(0)\n}\n' "$name" >"$work/name.hlo"
  for target in proto wrapped; do
    there_and_back "$work/name.hlo" $target
    expect_exit "check of a proto with a name of $size bytes" 0 "$hlorun" check "$work/$target.$(ending $target)"
    expect_exit "a proto with a name of $size bytes to mlir" 0 \
      "$hlorun" convert --to mlir -o "$work/name.mlir" "$work/$target.$(ending $target)"
  done
done

# --- defaults of VHLO ---

# select_and_scatter of StableHLO must name its window, whatever its size; VHLO has ones as a default.
cat >"$work/ones.hlo" <<'END'
HloModule ones
at_least { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=GE }
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[5] parameter(0)
  source = f32[3] parameter(1)
  zero = f32[] constant(0)
  ROOT r = f32[5] select-and-scatter(x, source, zero), window={size=1 stride=2}, select=at_least, scatter=sum
}
END
for target in newest 1.0.0; do
  there_and_back "$work/ones.hlo" "$target"
  expect_exit "window of ones through $target" 0 "$hlorun" -i 0=0 -i 1=7 "$work/$target.back.hlo"
  expect_text "window of ones through $target" "out0 = f32[5] {7, 0, 7, 0, 7}"
done

# --- marks of passes ---

# What a pass has marked stays marked in StableHLO.
marked() { grep -c 'masked=true' "$1"; }
expect_exit "masked products" 0 "$hlorun" run --stop-after masks_to_ragged -o "$work/masked.hlo" \
  "$source_dir/tests/passes/masks_to_ragged.hlo"
expect_exit "masked products to mlir" 0 "$hlorun" convert -o "$work/masked.mlir" "$work/masked.hlo"
expect_exit "masked products from mlir" 0 "$hlorun" convert --to hlo -o "$work/masked.back.hlo" "$work/masked.mlir"
[ "$(marked "$work/masked.hlo")" -gt 0 ] && [ "$(marked "$work/masked.hlo")" = "$(marked "$work/masked.back.hlo")" ] \
  && pass || fail "masked products lost their mark"

# --- functions and meshes that are named and missing ---

# StableHLO's own verifier asks for none of them, so artifacts may lack them; what runs must have them.
cat >"$work/missing.mlir" <<'END'
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.custom_call @elsewhere(%x) {called_computations = [@absent]} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = call @declared(%0) : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
func.func private @declared(%x: tensor<2xf32>) -> tensor<2xf32>
func.func @uncalled(%x: tensor<2xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @nowhere, axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<2xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
END
expect_exit "names that are missing" 0 "$hlorun" check "$work/missing.mlir"
expect_text "names that are missing" "warning: @uncalled, which nothing calls, is not valid:"
expect_text "names that are missing" "missing.mlir:8:8: error: stablehlo.all_gather: there is no mesh @nowhere"
expect_exit "a run of what is missing" 3 "$hlorun" --random-inputs "$work/missing.mlir"
expect_text "a run of what is missing" "missing.mlir:2:8: error: custom-call of %custom-call.1: no custom call 'elsewhere' here"
expect_exit "names in bytecode" 0 "$hlorun" convert -o "$work/missing.mlirbc" "$work/missing.mlir"
expect_exit "names from bytecode" 0 "$hlorun" check "$work/missing.mlirbc"
for form in mlir mlirbc; do
  expect_exit "names in HLO" 0 "$hlorun" convert --to hlo -o "$work/missing.hlo" "$work/missing.$form"
  expect_exit "names from HLO" 0 "$hlorun" convert --to mlir -o "$work/missing.back.mlir" "$work/missing.hlo"
  if grep -qF 'called_computations = [@absent]' "$work/missing.back.mlir"; then pass; else fail "a name is lost"; fi
done
sed 's/@uncalled/@main/; s/@main(%x: tensor<2xf32>) -> tensor<2xf32>/@other(%x: tensor<2xf32>) -> tensor<2xf32>/' "$work/missing.mlir" >"$work/mesh.mlir"
expect_exit "a mesh that the entry lacks" 3 "$hlorun" check "$work/mesh.mlir"
expect_text "a mesh that the entry lacks" "mesh.mlir:8:8: error: stablehlo.all_gather: there is no mesh @nowhere"

# --- portable artifacts ---

# Artifacts, without the ops that VHLO has no form for. What CHLO says becomes the custom calls that XLA knows, and
# reads.
grep -vE '^  (mulhi|ragged-dot|scan) =' "$work/ops.hlo" >"$work/portable.hlo"
there_and_back "$work/portable.hlo" newest
expect_exit "calls in an artifact" 0 "$hlorun" convert --to mlir -o "$work/calls.mlir" "$work/newest.mlirbc"
for op in acos acosh asin asinh atanh cosh erf sinh topk; do
  if grep -qF "custom_call @mhlo.$op(" "$work/calls.mlir"; then pass; else fail "$op in an artifact"; fi
  case " $(echo $dissolved) " in *" $op "*) continue ;; esac
  if has_op "$work/newest.back.hlo" "$op"; then pass; else fail "$op is lost in an artifact"; fi
done
if grep -q 'custom_call_target="mhlo' "$work/newest.back.hlo"; then fail "a custom call that is an op"; else pass; fi
# Before version 1.16 the groups of a mesh are written out.
cat >"$work/mesh.mlir" <<'END'
func.func private @mesh() attributes {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 2 : i64}], device_ids = dense<[0, 2, 1, 3]> : tensor<4xi64>}}
func.func @main(%x: tensor<4xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
END
for version in 1.15.0 1.16.0; do
  expect_exit "mesh in $version" 0 "$hlorun" convert --target-version=$version -o "$work/mesh.mlirbc" "$work/mesh.mlir"
  expect_exit "mesh from $version" 0 "$hlorun" convert --to mlir -o "$work/mesh.$version" "$work/mesh.mlirbc"
done
# Attributes that old versions lack may be written out, if they say nothing.
cat >"$work/nothing.mlir" <<'END'
func.func @main(%x: tensor<f32>, %t: !stablehlo.token) -> (tensor<f32>, !stablehlo.token) {
  %0 = "stablehlo.cbrt"(%x) {result_accuracy = #stablehlo.result_accuracy<atol = 0.0, rtol = 0.0, ulps = 0, mode = #stablehlo.result_accuracy_mode<DEFAULT>>} : (tensor<f32>) -> tensor<f32>
  %1 = "stablehlo.send"(%0, %t) {source_target_pairs = dense<[]> : tensor<0xi64>, channel_handle = #stablehlo.channel_handle<handle = 0, type = 2>, is_host_transfer = true} : (tensor<f32>, !stablehlo.token) -> !stablehlo.token
  return %0, %1 : tensor<f32>, !stablehlo.token
}
END
sed 's/ulps = 0/ulps = 3/' "$work/nothing.mlir" >"$work/something.mlir"
for version in 1.0.0 1.8.0 1.11.0; do
  expect_exit "nothing new in $version" 0 "$hlorun" convert --target-version=$version -o "$work/nothing.mlirbc" "$work/nothing.mlir"
  expect_exit "nothing new from $version" 0 "$hlorun" check "$work/nothing.mlirbc"
done
expect_exit "an accuracy in 1.8.0" 3 "$hlorun" convert --target-version=1.8.0 -o "$work/some.mlirbc" "$work/something.mlir"
expect_text "an accuracy in 1.8.0" "result_accuracy has no form"
cat >"$work/future.mlir" <<'END'
func.func @main(%f: !stablehlo.future<tensor<f32>>) -> !stablehlo.future<tensor<f32>> {
  %0 = "stablehlo.custom_call"(%f) {call_target_name = "foo"} : (!stablehlo.future<tensor<f32>>) -> !stablehlo.future<tensor<f32>>
  return %0 : !stablehlo.future<tensor<f32>>
}
END
expect_exit "a call of futures in 1.17.0" 0 "$hlorun" convert --target-version=1.17.0 -o "$work/some.mlirbc" "$work/future.mlir"
expect_exit "a call of futures in 1.16.0" 3 "$hlorun" convert --target-version=1.16.0 -o "$work/some.mlirbc" "$work/future.mlir"
if grep -qF 'dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>' "$work/mesh.1.15.0"; then pass; else fail "mesh written out"; fi
if grep -qF 'mesh = @mesh' "$work/mesh.1.16.0"; then pass; else fail "mesh kept"; fi

for op in mulhi ragged-dot scan; do
  { sed -n '1,/^ENTRY/p' "$work/ops.hlo"; grep -E ' parameter\(' "$work/ops.hlo" | sed -n '/^  [a-z0-9]* =/p'; \
    grep -E "^  $op =" "$work/ops.hlo" | sed 's/^  /  ROOT /'; echo '}'; } >"$work/one.hlo"
  expect_exit "$op in an artifact" 3 "$hlorun" convert --target-version=latest -o "$work/one.mlirbc" "$work/one.hlo"
  expect_text "$op in an artifact" "has no form in version"
done
finish
