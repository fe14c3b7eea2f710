# shellcheck shell=bash
# Programs of the tests of the command, in the current folder. Sourced.
write_program() {
  printf 'HloModule %s\n\nENTRY main {\n%s\n}\n' "$1" "$2" >"$1.hlo"
}
write_program twice '  x = f32[3] parameter(0)
  ROOT y = f32[3] add(x, x)'
write_program wrong '  x = f32[3] parameter(0)
  ROOT y = f32[4] add(x, x)'
write_program sum_all '  x = f32[3] parameter(0)
  ROOT y = f32[3] all-reduce(x), replica_groups={}, to_apply=add'
sed -i 's/^ENTRY/add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n\n&/' \
  sum_all.hlo
write_program big '  ROOT x = f64[1000000,1000000,1000000] iota(), iota_dimension=0'
write_program elided '  ROOT x = f32[100] constant({...})'
