#!/usr/bin/env bash
# Results have the same bits with any number of threads: products (tall, thin, deep, batched, ragged), reductions, scatters,
# running totals, convolutions and their gradients, factorisations and transforms, in all types that round. Sizes are such that
# several threads share the work, and that sums are long enough to be divided.
set -u
. "$(dirname "$0")/common.sh"
cd "$work" || exit 99

# What the program that is being written consists of.
parameters=0 results="" body=""
parameter() { # SHAPE: a new one, named p0, p1, ...
  body+="  p$parameters = $1 parameter($parameters)"$'\n'
  last=p$parameters
  parameters=$((parameters + 1))
}
result() { # NAME SHAPE OPERATION
  body+="  $1 = $2 $3"$'\n'
  results+="${results:+, }$1"
  names+=("$1")
}
binary() { # NAME SHAPE OPCODE LHS RHS ATTRIBUTES
  local lhs
  parameter "$4"
  lhs=$last
  parameter "$5"
  result "$1" "$2" "$3($lhs, $last), $6"
}

products() {
  binary tall T[4096,16] dot T[4096,24] T[24,16] 'lhs_contracting_dims={1}, rhs_contracting_dims={0}'
  binary thin T[4,1536] dot T[4,1100] T[1100,1536] 'lhs_contracting_dims={1}, rhs_contracting_dims={0}'
  binary row T[1,700] dot T[1,1500] T[1500,700] 'lhs_contracting_dims={1}, rhs_contracting_dims={0}'
  binary column T[700,1] dot T[700,1500] T[1500,1] 'lhs_contracting_dims={1}, rhs_contracting_dims={0}'
  binary rows T[3,700] dot T[3,1100] T[700,1100] 'lhs_contracting_dims={1}, rhs_contracting_dims={1}'
  binary square T[150,130] dot T[150,170] T[170,130] 'lhs_contracting_dims={1}, rhs_contracting_dims={0}'
  binary deep T[40,24] dot T[40,9000] T[9000,24] 'lhs_contracting_dims={1}, rhs_contracting_dims={0}'
  binary deep_narrow T[24,7] dot T[24,9000] T[9000,7] 'lhs_contracting_dims={1}, rhs_contracting_dims={0}'
  binary gradient T[72,56] dot T[5000,72] T[5000,56] 'lhs_contracting_dims={0}, rhs_contracting_dims={0}'
  binary batch T[3,40,24] dot T[3,40,2100] T[3,2100,24] \
    'lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}'
  binary batches T[12,50,60] dot T[12,50,70] T[12,70,60] \
    'lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}'
}
sparse() {
  parameter T[300,700]; local values=$last
  parameter T[700,90]; local x=$last
  parameter T[300,90]; local y=$last
  body+="  step = s32[] constant(37)
  every = s32[] constant(61)
  none = s32[] constant(0)
  mask_row = s32[300,700] iota(), iota_dimension=0
  column_of = s32[300,700] iota(), iota_dimension=1
  steps = s32[300,700] broadcast(step), dimensions={}
  far = s32[300,700] multiply(mask_row, steps)
  mask_at = s32[300,700] add(far, column_of)
  everies = s32[300,700] broadcast(every), dimensions={}
  rest = s32[300,700] remainder(mask_at, everies)
  nones = s32[300,700] broadcast(none), dimensions={}
  hit = pred[300,700] compare(rest, nones), direction=EQ
  zeros = T[300,700] broadcast(zero), dimensions={}
  mask = T[300,700] select(hit, $values, zeros)
  masked = T[300,90] dot(mask, $x), lhs_contracting_dims={1}, rhs_contracting_dims={0}"$'\n'
  result sparse T[300,90] "dot(mask, $x), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
  result sparse_turned T[700,90] "dot(mask, $y), lhs_contracting_dims={0}, rhs_contracting_dims={0}"
  result sparse_finished T[300,90] "tanh(masked)"
}
zero_tails() {
  parameter T[5,300,60]; local values=$last
  parameter T[5,60,90]; local x=$last
  parameter T[5,300,90]; local y=$last
  body+="  many = s32[] constant(70)
  manies = s32[5,300,60] broadcast(many), dimensions={}
  group_of = s32[5,300,60] iota(), iota_dimension=0
  place_of = s32[5,300,60] iota(), iota_dimension=1
  taken = s32[5,300,60] multiply(group_of, manies)
  is_taken = pred[5,300,60] compare(place_of, taken), direction=LT
  places = T[5,300,60] broadcast(zero), dimensions={}
  sent = T[5,300,60] select(is_taken, $values, places)"$'\n'
  local batch='lhs_batch_dims={0}, rhs_batch_dims={0}'
  result tail_rows T[5,300,90] "dot(sent, $x), $batch, lhs_contracting_dims={2}, rhs_contracting_dims={1}"
  result tail_terms T[5,60,90] "dot(sent, $y), $batch, lhs_contracting_dims={1}, rhs_contracting_dims={1}"
}
ragged() {
  parameter T[600,96]; local x=$last
  parameter T[600,80]; local y=$last
  parameter T[5,96,80]; local w=$last
  body+='  sizes = s32[5] constant({130, 0, 210, 60, 200})'$'\n'
  result ragged_rows T[600,80] "ragged-dot($x, $w, sizes), lhs_contracting_dims={1}, rhs_contracting_dims={1},
    lhs_ragged_dims={0}, rhs_group_dims={0}"
  result ragged_terms T[5,96,80] "ragged-dot($x, $y, sizes), lhs_contracting_dims={0}, rhs_contracting_dims={0},
    lhs_ragged_dims={0}"
}
reductions() {
  parameter T[7,30000]; local wide=$last
  parameter T[30000,7]; local tall=$last
  parameter T[40,50,60]; local box=$last
  result sum_rows T[7] "reduce($wide, zero), dimensions={1}, to_apply=add"
  result sum_columns T[7] "reduce($tall, zero), dimensions={0}, to_apply=add"
  result sum_all T[] "reduce($wide, zero), dimensions={0,1}, to_apply=add"
  result sum_middle T[40,60] "reduce($box, zero), dimensions={1}, to_apply=add"
  result sum_ends T[50] "reduce($box, zero), dimensions={0,2}, to_apply=add"
  result product_rows T[7] "reduce($wide, one), dimensions={1}, to_apply=multiply"
  body+="  exp = T[7,30000] exponential($wide)"$'\n'
  result exp_sums T[7] 'reduce(exp, zero), dimensions={1}, to_apply=add'
}
totals() {
  parameter T[90000]; local line=$last
  parameter T[3,40000]; local lines=$last
  parameter T[500,60]; local columns=$last
  result total T[90000] "reduce-window($line, zero), window={size=90000 pad=89999_0}, to_apply=add"
  result total_back T[90000] "reduce-window($line, zero), window={size=90000 pad=0_89999}, to_apply=add"
  result totals T[3,40000] "reduce-window($lines, zero), window={size=1x40000 pad=0_0x39999_0}, to_apply=add"
  result totals_down T[500,60] "reduce-window($columns, zero), window={size=500x1 pad=499_0x0_0}, to_apply=add"
  result windows T[90000] "reduce-window($line, zero), window={size=9 pad=4_4}, to_apply=add"
}
scatter_into() { # NAME OPERAND UPDATES ROWS
  parameter "$2"; local to=$last
  parameter "s32[$4,1]"; local at=$last
  parameter "$3"
  local window='update_window_dims={1}'
  case $3 in *,*) ;; *) window='update_window_dims={}' ;; esac
  result "$1" "$2" "scatter($to, $at, $last), $window, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
    index_vector_dim=1, to_apply=add"
}
scatters() {
  scatter_into scatter_short T[50,16] T[9000,16] 9000
  scatter_into scatter_long T[20,300] T[900,300] 900
  scatter_into scatter_medium T[30,130] T[2000,130] 2000
  scatter_into scatter_elements T[64] T[40000] 40000
  scatter_into scatter_sparse T[5000,16] T[3000,16] 3000
}
convolutions() {
  local same='window={size=3x3 pad=1_1x1_1}'
  binary same T[4,20,24,32] convolution T[4,20,24,16] T[3,3,16,32] "$same, dim_labels=b01f_01io->b01f"
  binary same_nchw T[3,32,20,24] convolution T[3,16,20,24] T[32,16,3,3] "$same, dim_labels=bf01_oi01->bf01"
  binary wide T[2,14,14,128] convolution T[2,14,14,96] T[3,3,96,128] "$same, dim_labels=b01f_01io->b01f"
  binary stem T[2,24,24,24] convolution T[2,48,48,3] T[7,7,3,24] \
    'window={size=7x7 stride=2x2 pad=3_2x3_2}, dim_labels=b01f_01io->b01f'
  binary pointwise T[4,20,24,48] convolution T[4,20,24,40] T[1,1,40,48] 'window={size=1x1}, dim_labels=b01f_01io->b01f'
  binary depthwise T[4,20,24,32] convolution T[4,20,24,32] T[3,3,1,32] "$same, dim_labels=b01f_01io->b01f, feature_group_count=32"
  binary grouped T[4,20,24,64] convolution T[4,20,24,32] T[3,3,8,64] "$same, dim_labels=b01f_01io->b01f, feature_group_count=4"
  binary data_gradient T[4,20,24,16] convolution T[4,20,24,32] T[3,3,16,32] \
    'window={size=3x3 pad=1_1x1_1 rhs_reversal=1x1}, dim_labels=b01f_01oi->b01f'
  binary strided_gradient T[4,20,24,16] convolution T[4,10,12,32] T[3,3,16,32] \
    'window={size=3x3 pad=1_2x1_2 lhs_dilate=2x2 rhs_reversal=1x1}, dim_labels=b01f_01oi->b01f'
  binary weights T[3,3,16,32] convolution T[8,20,24,16] T[8,20,24,32] \
    'window={size=20x24 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf'
  binary weights_of_few T[3,3,3,16] convolution T[8,30,30,3] T[8,30,30,16] \
    'window={size=30x30 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf'
  binary weights_of_point T[1,1,40,48] convolution T[4,20,24,40] T[4,20,24,48] \
    'window={size=20x24}, dim_labels=f01b_i01o->01bf'
  binary weights_strided T[3,3,16,32] convolution T[8,20,24,16] T[8,10,12,32] \
    'window={size=10x12 pad=0_1x0_1 rhs_dilate=2x2}, dim_labels=f01b_i01o->01bf'
  binary weights_of_depth T[3,3,1,32] convolution T[8,20,24,32] T[8,20,24,32] \
    'window={size=20x24 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf, batch_group_count=32'
  binary line T[8,300,24] convolution T[8,300,20] T[5,20,24] 'window={size=5 pad=2_2}, dim_labels=b0f_0io->b0f'
}
factorisations() {
  parameter T[400,400]; local a=$last
  body+="  square = T[400,400] dot($a, $a), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  hundreds = T[400,400] broadcast(hundred), dimensions={}
  i = s32[400,400] iota(), iota_dimension=0
  j = s32[400,400] iota(), iota_dimension=1
  diagonal = pred[400,400] compare(i, j), direction=EQ
  shift = T[400,400] select(diagonal, hundreds, square)
  definite = T[400,400] add(square, shift)"$'\n'
  result factor T[400,400] 'cholesky(definite), lower=true'
  parameter T[400,150]
  result solved T[400,150] "triangular-solve(definite, $last), left_side=true, lower=true, transpose_a=NO_TRANSPOSE"
  parameter T[90,400]
  result solved_right T[90,400] "triangular-solve(definite, $last), left_side=false, lower=true, transpose_a=TRANSPOSE"
}
transforms() {
  parameter T[20000]; local line=$last
  parameter T[20,1000]; local lines=$last
  parameter T[30,32,60]; local box=$last
  result transform T[20000] "fft($line), fft_type=FFT, fft_length={20000}"
  result transform_rows T[20,1000] "fft($lines), fft_type=FFT, fft_length={1000}"
  result transform_box T[30,32,60] "fft($box), fft_type=FFT, fft_length={32,60}"
}
number() { # of the program's type
  case $type in c*) echo "($1, 0)" ;; *) echo "$1" ;; esac
}
# A program in which T is the type.
program() { # NAME TYPE PART...
  local name=$1 type=$2 of=T part
  parameters=0 results="" body="" names=()
  shift 2
  for part; do $part; done
  local shapes
  shapes=$(for result in "${names[@]}"; do sed -n "s/^  $result = \([^ ]*\) .*/\1/p" <<<"$body"; done | paste -sd,)
  cat >"$name.hlo" <<END
HloModule $name
add { x = T[] parameter(0)
  y = T[] parameter(1)
  ROOT r = T[] add(x, y) }
multiply { x = T[] parameter(0)
  y = T[] parameter(1)
  ROOT r = T[] multiply(x, y) }
ENTRY e {
  zero = T[] constant($(number 0))
  one = T[] constant($(number 1))
  hundred = T[] constant($(number 100))
$body
  ROOT results = ($shapes) tuple($results)
}
END
  sed -i "s/\bT\[/$type[/g" "$name.hlo"
}

same_bits() { # NAME
  local threads at=0 name
  for threads in 1 2 3 4 8; do
    mkdir -p "$1.$threads"
    expect_exit "$1 with $threads threads" 0 "$hlorun" --threads $threads --random-inputs --cache none \
      --output "$1.$threads/%k.npy" "$1.hlo" || return
  done
  for name in "${names[@]}"; do
    for threads in 2 3 4 8; do
      if cmp -s "$1.1/$at.npy" "$1.$threads/$at.npy"
      then pass; else fail "$1: $name differs between 1 and $threads threads"; fi
    done
    at=$((at + 1))
  done
}

for type in f32 f64 bf16 f16; do
  program "arithmetic_$type" $type products sparse zero_tails ragged reductions totals scatters convolutions
  same_bits "arithmetic_$type"
done
program products_c64 c64 products reductions totals scatters convolutions transforms
same_bits products_c64
for type in f32 f64; do
  program "factorisations_$type" $type factorisations
  same_bits "factorisations_$type"
done
program narrow f8e4m3fn products
same_bits narrow

finish
