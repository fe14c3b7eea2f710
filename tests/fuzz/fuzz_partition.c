/* Whatever a verified program says about its shardings is partitioned or refused: no crash, no
 * leak, no internal error, and what comes out of the partitioner and of the passes after it
 * verifies. The text is HLO or MLIR. With -DHR_FUZZING -fsanitize=fuzzer it is a target of
 * libFuzzer; else a program, see fuzz_driver.h. */
#include <stdio.h>

#include "fuzz_driver.h"
#include "fuzz_reader.h"
#include "ops/rules/verify.h"
#include "partition/program.h"
#include "passes/pipeline.h"
#include "read/read.h"

#define DEVICES_MAX 64 /* larger grids take long, and show nothing else */

/* The partitioner's errors are the user's; a program that it made and that does not verify is its
 * own fault. */
static void check_made(hr_status_t st, const char *what) {
  if (!st) return;
  hr_status_print(stderr, st);
  fuzz_fail(what);
}

static hr_status_t partition(hlo_module_t *module) {
  spmd_options_t options = {.device_count = module->num_partitions};
  if (options.device_count > DEVICES_MAX) options.device_count = DEVICES_MAX;
  HR_TRY(spmd_run(module, &options));
  check_made(hlo_verify(module), "the program of a partition does not verify");
  pass_options_t passes = {.verify = true};
  return pass_run_all(module, &passes);
}

static hr_status_t check_input(const uint8_t *data, size_t size) {
  hlo_module_t *module;
  HR_TRY(fuzz_read_module(data, size, &module));
  hr_status_t st = hlo_verify(module);
  if (!st) st = partition(module);
  hlo_module_destroy(module);
  return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return fuzz_check(data, size, check_input);
}

#ifndef HR_FUZZING

static const char *const words[] = {"{",
                                    "}",
                                    "[",
                                    "]",
                                    "<",
                                    ">",
                                    ",",
                                    "?",
                                    "{}",
                                    "{?}",
                                    "{\"x\"}",
                                    "{\"x\", \"y\"}",
                                    "{\"x\", ?}p1",
                                    "{\"x\":(1)2}",
                                    "{\"x\":(2)2}",
                                    "replicated={\"y\"}",
                                    "unreduced={\"x\"}",
                                    "<@mesh, [{\"x\"}, {}]>",
                                    "<@mesh, [{}, {\"y\"}]>",
                                    "<mesh<[\"x\"=2]>, [{\"x\"}]>",
                                    "\"x\"=2",
                                    "\"y\"=3",
                                    "device_ids=[1, 0]",
                                    "{replicated}",
                                    "{maximal device=1}",
                                    "{manual}",
                                    "{devices=[2,1]<=[2]}",
                                    "{devices=[1,2]0,1}",
                                    "{devices=[2,1,2]<=[4] last_tile_dim_replicate}",
                                    "{devices=[2,2]<=[2,2]T(1,0)}",
                                    "last_tile_dims={manual}",
                                    "sharding=",
                                    "Sharding",
                                    "InspectSharding",
                                    "xla.sdy.ShardingGroup",
                                    "xla.sdy.PropagationBarrier",
                                    "SPMDFullToShardShape",
                                    "SPMDShardToFullShape",
                                    "xla.sdy.GlobalToLocalShape",
                                    "xla.sdy.LocalToGlobalShape",
                                    "TopK",
                                    "mhlo.erf",
                                    "X64Combine",
                                    "lapack_spotrf_ffi",
                                    "()",
                                    "f32[]",
                                    "f32[3]",
                                    "(f32[], f32[2,2])",
                                    "token[]",
                                    "num_partitions=4",
                                    "0",
                                    "1",
                                    "3",
                                    "1099511627776"};

static const char *const builtin[] = {
    "module @m attributes {mhlo.num_partitions = 4 : i32} {\n"
    "  sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>\n"
    "  func.func public @main(%arg0: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, "
    "[{\"x\"}, {\"y\"}]>}, %arg1: tensor<6x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"y\"}, "
    "{?}]>}) -> (tensor<8x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"x\"}]>}) {\n"
    "    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x6xf32>, "
    "tensor<6x5xf32>) -> tensor<8x5xf32>\n"
    "    %1 = sdy.sharding_constraint %0 <@mesh, [{\"y\"}, {}]> : tensor<8x5xf32>\n"
    "    %2 = stablehlo.reverse %1, dims = [0] : tensor<8x5xf32>\n"
    "    %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<8x5xf32>, tensor<8x5xf32>) -> "
    "tensor<16x5xf32>\n"
    "    %4 = stablehlo.slice %3 [1:16:2, 0:5] : (tensor<16x5xf32>) -> tensor<8x5xf32>\n"
    "    return %4 : tensor<8x5xf32>\n  }\n}\n",
    "module @m attributes {mhlo.num_partitions = 4 : i32} {\n"
    "  sdy.mesh @mesh = <[\"x\"=2, \"y\"=2], device_ids=[3, 1, 2, 0]>\n"
    "  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, "
    "[{\"x\"}, {}], unreduced={\"y\"}>}) -> tensor<8x4xf32> {\n"
    "    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{\"x\"}, {\"y\"}]>] "
    "out_shardings=[<@mesh, [{\"x\"}, {\"y\"}]>] manual_axes={\"x\", \"y\"} (%b: tensor<4x2xf32>) "
    "{\n"
    "      %1 = stablehlo.add %b, %b : tensor<4x2xf32>\n"
    "      sdy.return %1 : tensor<4x2xf32>\n    } : (tensor<8x4xf32>) -> tensor<8x4xf32>\n"
    "    %2 = sdy.reshard %0 <@mesh, [{}, {\"y\", \"x\"}]> : tensor<8x4xf32>\n"
    "    return %2 : tensor<8x4xf32>\n  }\n}\n",
    "module @m attributes {mhlo.num_partitions = 2 : i32} {\n"
    "  sdy.mesh @mesh = <[\"x\"=2]>\n"
    "  func.func public @main(%arg0: tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, "
    "[{\"x\"}, {}]>}) -> tensor<4x3xf32> {\n"
    "    %0 = stablehlo.custom_call @f(%arg0) {operand_layouts = [dense<[0, 1]> : "
    "tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>], sdy.sharding_rule = "
    "#sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=3}, custom>} : (tensor<4x3xf32>) -> "
    "tensor<4x3xf32>\n"
    "    return %0 : tensor<4x3xf32>\n  }\n}\n",
    "HloModule g, num_partitions=4\n\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
    "  ROOT c = f32[] add(a, b)\n}\n\nENTRY e {\n"
    "  x = f32[9,8] parameter(0), sharding={devices=[4,1]<=[4]}\n  z = f32[] constant(0)\n"
    "  w = f32[9,8] reduce-window(x, z), window={size=3x1 pad=1_1x0_0}, to_apply=add, "
    "sharding={devices=[2,2]<=[2,2]T(1,0)}\n"
    "  j = s32[] parameter(1), sharding={replicated}\n  z0 = s32[] constant(0)\n"
    "  d = f32[3,8] dynamic-slice(w, j, z0), dynamic_slice_sizes={3,8}\n"
    "  r = f32[8] reduce(d, z), dimensions={0}, to_apply=add, sharding={devices=[2,2]<=[4] "
    "last_tile_dim_replicate}\n"
    "  ROOT t = (f32[9,8], f32[8]) tuple(w, r), sharding={{devices=[1,4]<=[4]}, "
    "{devices=[4]<=[4]}}\n}\n",
    "HloModule m, num_partitions=2\n\nENTRY e {\n"
    "  x = f32[6,4] parameter(0), sharding={devices=[2,1]<=[2]}\n"
    "  s = f32[6,4] custom-call(x), custom_call_target=\"Sharding\", "
    "sharding={devices=[1,2]<=[2]}\n"
    "  i = f32[6,4] custom-call(s), custom_call_target=\"InspectSharding\"\n"
    "  l = f32[6,4] custom-call(i), custom_call_target=\"Sharding\", "
    "sharding={devices=[2,1]<=[2]}\n"
    "  f = f32[3,4] custom-call(l), custom_call_target=\"SPMDFullToShardShape\", "
    "sharding={manual}\n"
    "  n = f32[3,4] negate(f), sharding={manual}\n"
    "  c = f32[3,4] custom-call(n), custom_call_target=\"Sharding\", sharding={manual}\n"
    "  g = f32[6,4] custom-call(c), custom_call_target=\"SPMDShardToFullShape\", "
    "sharding={devices=[2,1]<=[2]}\n"
    "  ROOT t = (f32[6,2], s32[6,2]) custom-call(g), custom_call_target=\"TopK\"\n}\n",
    "HloModule s, num_partitions=2\n\nbody {\n  p = (s32[], f32[6,4]) parameter(0)\n"
    "  i = s32[] get-tuple-element(p), index=0\n  x = f32[6,4] get-tuple-element(p), index=1\n"
    "  one = s32[] constant(1)\n  j = s32[] add(i, one)\n"
    "  y = f32[6,4] sort(x), dimensions={0}, to_apply={\n    a = f32[] parameter(0)\n"
    "    b = f32[] parameter(1)\n    ROOT l = pred[] compare(a, b), direction=LT\n  }\n"
    "  ROOT t = (s32[], f32[6,4]) tuple(j, y)\n}\n\ncond {\n  p = (s32[], f32[6,4]) parameter(0)\n"
    "  i = s32[] get-tuple-element(p), index=0\n  n = s32[] constant(3)\n"
    "  ROOT r = pred[] compare(i, n), direction=LT\n}\n\nENTRY e {\n"
    "  x = f32[6,4] parameter(0), sharding={devices=[2,1]<=[2]}\n  zero = s32[] constant(0)\n"
    "  init = (s32[], f32[6,4]) tuple(zero, x)\n"
    "  loop = (s32[], f32[6,4]) while(init), condition=cond, body=body\n"
    "  y = f32[6,4] get-tuple-element(loop), index=1\n"
    "  ROOT o = f32[24] reshape(y), sharding={devices=[2]<=[2]}\n}\n",
};

int main(int argc, char **argv) {
  const fuzz_material_t material = {.texts = builtin,
                                    .own_count = sizeof builtin / sizeof *builtin,
                                    .words = words,
                                    .word_count = sizeof words / sizeof *words,
                                    .rounds = 5000};
  return fuzz_main(argc, argv, &material);
}

#endif
