/* MLIR text: what MLIR's own printer writes comes back byte for byte; errors name their place; the
 * IR becomes StableHLO and the IR again. */
#include "tests/lib/unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ir/print.h"
#include "mlir/text/mlir_parser.h"
#include "mlir/text/mlir_print.h"
#include "ops/rules/verify.h"
#include "read/read.h"
#include "stablehlo/stablehlo.h"

static hr_status_t parse(const char *text, mlir_module_t **out_tree) {
  HR_TRY(mlir_module_create(out_tree));
  (*out_tree)->source = (hr_source_t){"t.mlir", text, strlen(text)};
  hr_status_t st = mlir_parse_module(*out_tree);
  if (st) mlir_module_destroy(*out_tree);
  return st;
}

static hr_status_t read_hlo(const char *text, hlo_module_t **out_module) {
  HR_TRY(hlo_module_create(HR_STR("m"), out_module));
  (*out_module)->source = (hr_source_t){"t.hlo", text, strlen(text)};
  hr_status_t st = read_hlo_text(*out_module);
  if (!st) st = hlo_verify(*out_module);
  if (st) hlo_module_destroy(*out_module);
  return st;
}

static char *printed(const mlir_module_t *tree) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  mlir_print_module(&text, tree);
  return hr_strbuf_steal(&text);
}

static void check_same(const char *text) {
  mlir_module_t *tree = NULL;
  CHECK_OK(parse(text, &tree));
  if (!tree) return;
  char *again = printed(tree);
  CU_ASSERT_PTR_NOT_NULL_FATAL(again);
  if (strcmp(again, text)) fprintf(stderr, "wanted\n%s\nfound\n%s\n", text, again);
  CU_ASSERT_STRING_EQUAL(again, text);
  free(again);
  mlir_module_destroy(tree);
}

/* Each custom form that the printer has. */
static const char forms_text[] =
    "module @m attributes {mhlo.num_partitions = 1 : i32, my.flag = #my.on, my.other = #my.on<1, "
    "2>} {\n"
    "  func.func public @main(%arg0: tensor<4x8xf32> {mhlo.sharding = \"{replicated}\"}, %arg1: "
    "tensor<8xbf16>) -> (tensor<4xf32> {jax.result_info = \"r\"}, tensor<i32>) {\n"
    "    %c = stablehlo.constant dense<[1, -2]> : tensor<2xi32>\n"
    "    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>\n"
    "    %c_0 = stablehlo.constant dense<0> : tensor<i32>\n"
    "    %0 = stablehlo.slice %arg0 [0:4:2, 1:3] : (tensor<4x8xf32>) -> tensor<2x2xf32>\n"
    "    %1 = stablehlo.compare LT, %0, %0, TOTALORDER : (tensor<2x2xf32>, tensor<2x2xf32>) -> "
    "tensor<2x2xi1>\n"
    "    %2 = stablehlo.select %1, %0, %0 : tensor<2x2xi1>, tensor<2x2xf32>\n"
    "    %3 = stablehlo.reduce_precision %0, format = e5m10 : tensor<2x2xf32>\n"
    "    %4 = stablehlo.dot_general %0, %2, batching_dims = [0] x [0], contracting_dims = [1] x "
    "[1], precision = [HIGH, DEFAULT] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2xf32>\n"
    "    %5 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [1] : "
    "(tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>\n"
    "    %6:2 = stablehlo.while(%iterArg = %c_0, %iterArg_1 = %5) : tensor<i32>, tensor<4xf32>\n"
    "    cond {\n"
    "      %11 = stablehlo.compare LT, %iterArg, %c_0 : (tensor<i32>, tensor<i32>) -> "
    "tensor<i1>\n"
    "      stablehlo.return %11 : tensor<i1>\n"
    "    } do {\n"
    "      %11 = func.call @f(%iterArg) : (tensor<i32>) -> tensor<i32>\n"
    "      stablehlo.return %11, %iterArg_1 : tensor<i32>, tensor<4xf32>\n"
    "    }\n"
    "    %7 = call @f(%6#0) : (tensor<i32>) -> tensor<i32>\n"
    "    %values, %indices = chlo.top_k(%arg0, k = 2) : tensor<4x8xf32> -> (tensor<4x2xf32>, "
    "tensor<4x2xi32>)\n"
    "    %8 = stablehlo.custom_call @\"a b\"(%7) {backend_config = {x = 1 : ui8}, "
    "mhlo.frontend_attributes = {k = \"v\"}} : (tensor<i32>) -> tensor<i32>\n"
    "    %9 = \"stablehlo.scatter\"(%6#1, %c, %0) <{unique_indices = false}> ({\n"
    "    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):\n"
    "      stablehlo.return %arg3 : tensor<f32>\n"
    "    }) : (tensor<4xf32>, tensor<2xi32>, tensor<2x2xf32>) -> tensor<4xf32>\n"
    "    %10 = chlo.erf %9 : tensor<4xf32> -> tensor<4xf32>\n"
    "    return %10, %8 : tensor<4xf32>, tensor<i32>\n"
    "  }\n"
    "  func.func private @f(%arg0: tensor<i32>) -> tensor<i32> {\n"
    "    return %arg0 : tensor<i32>\n"
    "  }\n"
    "}\n";

/* What prints without some fields reads back and prints the same. */
static void check_settles(const char *text, const char *wanted) {
  mlir_module_t *tree = NULL;
  CHECK_OK(parse(text, &tree));
  if (!tree) return;
  char *first = printed(tree);
  CU_ASSERT_PTR_NOT_NULL_FATAL(first);
  CU_ASSERT_PTR_NOT_NULL(strstr(first, wanted));
  check_same(first);
  free(first);
  mlir_module_destroy(tree);
}

static void test_fields_left_out(void) {
  check_settles(
      "func.func @main(%arg0: tensor<f32>) -> tensor<f32> {\n"
      "  %0 = \"stablehlo.sine\"(%arg0) {result_accuracy = #stablehlo.result_accuracy<atol "
      "= 0.0, rtol = 0.0, ulps = 0, mode = #stablehlo.result_accuracy_mode<DEFAULT>>} : "
      "(tensor<f32>) -> tensor<f32>\n"
      "  return %0 : tensor<f32>\n"
      "}\n",
      "stablehlo.sine %arg0 : tensor<f32>");
  check_settles(
      "module attributes {x.y = #stablehlo.conv<raw input_batch_dimension = 1, "
      "input_feature_dimension = 1, input_spatial_dimensions = [2], "
      "kernel_input_feature_dimension = 0, kernel_output_feature_dimension = 1, "
      "kernel_spatial_dimensions = [2], output_batch_dimension = 0, "
      "output_feature_dimension = 1, output_spatial_dimensions = [2]>} {}\n",
      "conv<raw input_batch_dimension = 1");
}

static void test_forms(void) { check_same(forms_text); }

/* Names of unknown operations may hold any bytes. */
static void test_any_names(void) {
  check_same(
      "module {\n  func.func @main(%arg0: tensor<f32>) -> tensor<f32> {\n"
      "    %0 = \"stablehlo.abs\\00\\1B\\22\"(%arg0) : (tensor<f32>) -> tensor<f32>\n"
      "    return %0 : tensor<f32>\n  }\n}\n");
}

static void test_own_syntax(void) {
  check_same(
      "module {\n"
      "  sdy.mesh @mesh = <[\"x\"=4]>\n"
      "  func.func @main(%arg0: tensor<1x8x8x4xf32>, %arg1: tensor<3x3x4x6xf32>, %arg2: "
      "tensor<ui64>) -> tensor<1x8x8x6xf32> {\n"
      "    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, "
      "0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [0, 2]], reverse = [true, false]} "
      "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, "
      "tensor<3x3x4x6xf32>) -> tensor<1x8x8x6xf32>\n"
      "    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>\n"
      "    %1:2 = stablehlo.reduce(%arg0 init: %cst), (%arg0 init: %cst) across dimensions = [0, "
      "1, 2, 3] : (tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>, tensor<f32>, tensor<f32>) -> "
      "(tensor<f32>, tensor<f32>)\n"
      "     reducer(%arg3: tensor<f32>, %arg5: tensor<f32>) (%arg4: tensor<f32>, %arg6: "
      "tensor<f32>)  {\n"
      "      stablehlo.return %arg3, %arg6 : tensor<f32>, tensor<f32>\n"
      "    }\n"
      "    %2:2 = chlo.scan(%arg0) inits (%cst) dimension=0  attributes {is_reverse = true} {\n"
      "    ^bb0(%input: tensor<8x8x4xf32>, %carry: tensor<f32>):\n"
      "      stablehlo.return %input, %carry : tensor<8x8x4xf32>, tensor<f32>\n"
      "    } : (tensor<1x8x8x4xf32>, tensor<f32>) -> (tensor<1x8x8x4xf32>, tensor<f32>)\n"
      "    %output_state, %output = stablehlo.rng_bit_generator %arg2, algorithm = DEFAULT : "
      "(tensor<ui64>) -> (tensor<ui64>, tensor<2xui32>)\n"
      "    %3 = stablehlo.exponential %0 {result_accuracy = #stablehlo.result_accuracy<atol = "
      "5.000000e-01, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : "
      "tensor<1x8x8x6xf32>\n"
      "    return %3 : tensor<1x8x8x6xf32>\n"
      "  }\n"
      "}\n");
  check_same(
      "module {\n"
      "  func.func @results_of_a_return(%arg0: tensor<2xf32>) -> tensor<2xf32> {\n"
      "    %0 = \"func.return\"(%arg0) : (tensor<2xf32>) -> tensor<2xf32>\n"
      "  }\n"
      "}\n");
  check_same(
      "module {\n"
      "  func.func @fewer_results(%arg0: tensor<2xf32>, %arg1: tensor<i32>) -> tensor<2xf32> {\n"
      "    %0:2 = stablehlo.optimization_barrier %arg0, %arg1 : tensor<2xf32>, tensor<i32>\n"
      "    %1 = \"stablehlo.optimization_barrier\"(%0#0, %0#1) : (tensor<2xf32>, tensor<i32>) -> "
      "tensor<2xf32>\n"
      "    return %1 : tensor<2xf32>\n"
      "  }\n"
      "}\n");
}

/* MLIR writes six digits, or as many as the type may need, or the bits; the last digit is cut, not
 * rounded, where its printer cuts. Enumerations read back whatever they are called. */
static void test_floats(void) {
  static const char *const values[] = {
      "1.000000e-01 : f32",        "3.14159274 : f32",           "1.17549435E-38 : f32",
      "0x4B800000 : f32",          "0x7FC00000 : f32",           "-0.000000e+00 : f64",
      "0.30000000000000004 : f64", "-0.99999999999999988 : f64", "0.33333333333333331 : f64",
      "6.103520e-05 : f16",        "1.000000e+10 : f64",         "9.809080e-45 : f32",
      "#stablehlo.a-b<X>",         "#stablehlo<precision X>"};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    char text[200];
    snprintf(text, sizeof text, "module attributes {a = %s} {\n}\n", values[i]);
    check_same(text);
  }
}

static void check_error(const char *text, const char *wanted) {
  mlir_module_t *tree;
  hr_status_t st = parse(text, &tree);
  char *report = hr_status_format(st);
  CU_ASSERT_EQUAL(hr_status_code(st), HR_INVALID);
  if (!report || !strstr(report, wanted))
    fprintf(stderr, "wanted %s in\n%s\n", wanted, report ? report : "nothing");
  CU_ASSERT(report && strstr(report, wanted));
  if (!st) mlir_module_destroy(tree);
  free(report);
  hr_status_release(st);
}

static void test_errors(void) {
  check_error("module {\n  func.func @f() {\n    stablehlo.nothing\n", "t.mlir:3:5");
  check_error("module {\n  func.func @f(%a: tensor<2xf32) {\n", "t.mlir:2:");
  check_error(
      "func.func private @f(tensor<2x2x!quant.uniform<i8:f32:{0:1, 1:1}, {{1.0, 2.0}, {3.0}}>>)",
      "lists of scales of equal lengths");
  check_error("func.func private @f(tensor<2x2x!quant.uniform<i8:f32:{0:1, 1:1}, {{1.0}, 3.0}>>)",
              "a nested list of scales");
  check_error(
      "module {\n  func.func @f(%a: tensor<2xf32>) {\n"
      "    %0 = sdy.all_gather [{\"a\"}] %a [{\"b\"}] out_sharding=<@m, [{}]> : tensor<2xf32>\n"
      "    return\n  }\n}\n",
      "t.mlir:3:");
  check_error("func.func @f(%a: tensor<i32>) {\n  return %b : tensor<i32>\n}\n", "t.mlir:2:10");
  check_error("module attributes {a = 1, a = 2} {}", "t.mlir:1:");
  check_error("module {\n  \"my.op\"() <{a = 1}> {a = 1} : () -> ()\n}\n",
              "t.mlir:2:3: error: the attribute a is given twice");
  check_error("func.func @f(%a: tensor<i32>) {\n  %0 = stablehlo.add %a : tensor<i32>\n",
              "t.mlir:2:");
}

/* --- the exporter --- */

static char *exported(const char *hlo) {
  hlo_module_t *module = NULL;
  mlir_module_t *tree = NULL;
  char *text = NULL;
  CHECK_OK(read_hlo(hlo, &module));
  if (!module) return NULL;
  CHECK_OK(mlir_module_create(&tree));
  hr_status_t st = stablehlo_export(module, tree);
  if (!st) text = printed(tree);
  CHECK_OK(st);
  mlir_module_destroy(tree);
  hlo_module_destroy(module);
  return text;
}

static void test_export(void) {
  char *text = exported(
      "HloModule m, input_output_alias={ {1}: (0, {1}, may-alias) }\n"
      "%w (p: (f32[2], s32[])) -> (f32[2], s32[]) {\n  ROOT %p = (f32[2], s32[]) parameter(0)\n}\n"
      "%c (p: (f32[2], s32[])) -> pred[] {\n  %p = (f32[2], s32[]) parameter(0)\n"
      "  %i = s32[] get-tuple-element(%p), index=1\n  ROOT %l = pred[] compare(%i, %i), "
      "direction=LT\n}\n"
      "ENTRY %main (a: (f32[2], s32[])) -> (f32[2], s32[]) {\n  %a = (f32[2], s32[]) parameter(0)\n"
      "  ROOT %x = (f32[2], s32[]) while(%a), condition=%c, body=%w\n}\n");
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  CU_ASSERT_STRING_EQUAL(
      text,
      "module @m attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {\n"
      "  func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<i32> {tf.aliasing_output = 1 : "
      "i32}) -> (tensor<2xf32>, tensor<i32>) {\n"
      "    %0:2 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %arg1) : tensor<2xf32>, "
      "tensor<i32>\n"
      "    cond {\n"
      "      %1 = stablehlo.compare LT, %iterArg_0, %iterArg_0 : (tensor<i32>, tensor<i32>) -> "
      "tensor<i1>\n"
      "      stablehlo.return %1 : tensor<i1>\n"
      "    } do {\n"
      "      stablehlo.return %iterArg, %iterArg_0 : tensor<2xf32>, tensor<i32>\n"
      "    }\n"
      "    return %0#0, %0#1 : tensor<2xf32>, tensor<i32>\n"
      "  }\n"
      "}\n");
  free(text);
}

/* Layouts that a bitcast looks through become transposes. */
static void test_bitcast(void) {
  char *text = exported(
      "HloModule m\nENTRY %main (a: f32[2,3]) -> f32[3,2] {\n  %a = f32[2,3]{0,1} parameter(0)\n"
      "  ROOT %b = f32[3,2]{1,0} bitcast(%a)\n}\n");
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  CU_ASSERT_PTR_NOT_NULL(strstr(
      text, "stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>"));
  free(text);
}

static void check_refused(const char *hlo, const char *wanted) {
  hlo_module_t *module = NULL;
  mlir_module_t *tree = NULL;
  CHECK_OK(read_hlo(hlo, &module));
  CHECK_OK(mlir_module_create(&tree));
  if (!module || !tree) return;
  hr_status_t st = stablehlo_export(module, tree);
  char *report = hr_status_format(st);
  CU_ASSERT_EQUAL(hr_status_code(st), HR_UNSUPPORTED);
  CU_ASSERT(report && strstr(report, wanted));
  free(report);
  hr_status_release(st);
  mlir_module_destroy(tree);
  hlo_module_destroy(module);
}

static void test_refused(void) {
  check_refused(
      "HloModule m\nENTRY %main () -> u64[2] {\n  ROOT %r = u64[2] rng-get-and-update-state(), "
      "delta=1\n}\n",
      "t.hlo:3:");
  check_refused(
      "HloModule m\nENTRY %main (x: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n  %t = token[] "
      "after-all()\n"
      "  %s = (f32[], u32[], token[]) send(%x, %t), channel_id=1\n  ROOT %r = f32[] "
      "negate(%x)\n}\n",
      "t.hlo:5:");
}

/* HLO becomes StableHLO text, that becomes HLO, and that the same StableHLO. */
static void test_round_trip(void) {
  char *first = exported(
      "HloModule m, num_partitions=2\n"
      "%add (a: f32[], b: f32[]) -> f32[] {\n  %a = f32[] parameter(0)\n  %b = f32[] "
      "parameter(1)\n  ROOT %s = f32[] add(%a, %b)\n}\n"
      "%k (x: f32[4,8]) -> f32[4,8] {\n  ROOT %x = f32[4,8] parameter(0)\n}\n"
      "ENTRY %main (x: f32[4,8], p: pred[], i: s32[2,1]) -> (f32[4,8], f32[2,8], f32[4], f32[4,8]) "
      "{\n"
      "  %x = f32[4,8] parameter(0), sharding={devices=[2,1]<=[2]}\n  %p = pred[] parameter(1), "
      "sharding={maximal device=1}\n"
      "  %i = s32[2,1] parameter(2)\n"
      "  %z = f32[] constant(1.5)\n"
      "  %ar = f32[4,8] all-reduce(%x), channel_id=1, replica_groups={{0,1}}, "
      "use_global_device_ids=true, to_apply=%add\n"
      "  %g = f32[2,8] gather(%x, %i), offset_dims={1}, collapsed_slice_dims={0}, "
      "start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}\n"
      "  %r = f32[4] reduce(%x, %z), dimensions={1}, to_apply=%add\n"
      "  %c = f32[4,8] call(%x), to_apply=%k\n"
      "  ROOT %t = (f32[4,8], f32[2,8], f32[4], f32[4,8]) tuple(%ar, %g, %r, %c),"
      " sharding={{devices=[1,2]<=[2]}, {replicated}, {manual}, {replicated}}\n}\n");
  CU_ASSERT_PTR_NOT_NULL_FATAL(first);
  CU_ASSERT(strstr(first, "mhlo.sharding = \"{devices=[2,1]<=[2]}\"") &&
            strstr(first, "mhlo.sharding = \"{manual}\""));
  mlir_module_t *tree = NULL, *again = NULL;
  hlo_module_t *module = NULL;
  CHECK_OK(parse(first, &tree));
  CHECK_OK(hlo_module_create(HR_STR("m"), &module));
  CHECK_OK(stablehlo_import(tree, &read_stablehlo_pieces, module));
  CHECK_OK(hlo_verify(module));
  CHECK_OK(mlir_module_create(&again));
  CHECK_OK(stablehlo_export(module, again));
  char *second = printed(again);
  CU_ASSERT(second && !strcmp(first, second));
  free(first);
  free(second);
  mlir_module_destroy(tree);
  mlir_module_destroy(again);
  hlo_module_destroy(module);
}

/* The location of op `index` of the only function. */
static void check_location(const mlir_module_t *tree, size_t index, const char *wanted) {
  const mlir_block_t *module = tree->op->regions[0]->blocks.data[0];
  const mlir_op_t *op = module->ops.data[0]->regions[0]->blocks.data[0]->ops.data[index];
  hr_str_t text = op->location ? op->location->text : HR_STR("none");
  if (!hr_str_is(text, wanted))
    fprintf(stderr, "wanted %s\nfound  %.*s\n", wanted, HR_STR_ARGS(text));
  CU_ASSERT(hr_str_is(text, wanted));
}

/* Aliases may stand before the ops that name them or after, name one another, lead in circles, or
 * be missing. */
static void test_locations(void) {
  static const char text[] =
      "#loc1 = loc(\"a.py\":1:2)\n#other = loc(\"b\"(#loc1))\n"
      "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n"
      "  %0 = stablehlo.abs %x : tensor<f32> loc(#loc3)\n"
      "  %1 = stablehlo.abs %0 : tensor<f32> loc(#loc3)\n"
      "  %2 = stablehlo.abs %1 : tensor<f32> loc(#loc1)\n"
      "  %3 = stablehlo.abs %2 : tensor<f32> loc(\"c#d\"(#other))\n"
      "  %4 = stablehlo.abs %3 : tensor<f32> loc(#loc99999999999)\n"
      "  %5 = stablehlo.abs %4 : tensor<f32> loc(#loc77)\n"
      "  %6 = stablehlo.abs %5 {of = #loc1} : tensor<f32> loc(#loc8)\n"
      "  return %6 : tensor<f32>\n}\n"
      "#loc2 = loc(callsite(\"f\"(#loc1) at #loc))\n#loc = loc(\"main.py\":7:8 to :9)\n#loc3 = "
      "loc(\"g\"(#loc2))\n"
      "#loc8 = loc(fused[#loc9])\n#loc9 = loc(\"h\"(#loc8))\n";
  static const char *const wanted[] = {
      "\"g\"(callsite(\"f\"(\"a.py\":1:2) at \"main.py\":7:8 to :9))",
      "\"g\"(callsite(\"f\"(\"a.py\":1:2) at \"main.py\":7:8 to :9))",
      "\"a.py\":1:2",
      "\"c#d\"(\"b\"(\"a.py\":1:2))",
      "unknown",
      "unknown"};
  mlir_module_t *tree = NULL;
  CHECK_OK(parse(text, &tree));
  if (!tree) return;
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) check_location(tree, i, wanted[i]);
  mlir_module_destroy(tree);
}

typedef struct pieces {
  hr_strbuf_t all;
  size_t longest; /* bytes */
} pieces_t;

static hr_status_t take_piece(void *context, const hr_strbuf_t *piece) {
  pieces_t *pieces = context;
  if (piece->size > pieces->longest) pieces->longest = piece->size;
  hr_strbuf_add(&pieces->all, piece->data, piece->size);
  return NULL;
}

/* A constant of 3 million digits leaves in pieces of about a megabyte. */
static void test_pieces(void) {
  enum { ELEMENTS = 1500000 };
  hr_strbuf_t text;
  pieces_t pieces = {.longest = 0};
  mlir_module_t *tree = NULL;
  hr_text_sink_t sink = {take_piece, &pieces, NULL};
  hr_strbuf_init(&text);
  hr_strbuf_init(&pieces.all);
  hr_strbuf_add_str(&text,
                    "module {\n  func.func @main() -> tensor<1500000xi8> {\n    %c = "
                    "stablehlo.constant dense<\"0x");
  for (int i = 0; i < ELEMENTS; i++) hr_strbuf_add_str(&text, i % 3 ? "0F" : "A7");
  hr_strbuf_add_str(&text,
                    "\"> : tensor<1500000xi8>\n    return %c : tensor<1500000xi8>\n  }\n}\n");
  CHECK_OK(hr_strbuf_finish(&text));
  CHECK_OK(parse(text.data, &tree));
  if (tree) CHECK_OK(mlir_print_module_to(&sink, tree, false));
  CU_ASSERT_EQUAL(pieces.all.size, text.size);
  CU_ASSERT(pieces.all.size == text.size && !memcmp(pieces.all.data, text.data, text.size));
  CU_ASSERT(pieces.longest < (1 << 20) + (1 << 14));
  mlir_module_destroy(tree);
  hr_strbuf_deinit(&pieces.all);
  hr_strbuf_deinit(&text);
}

static void test_leaks(void) {
  static const char text[] =
      "HloModule m\nENTRY %main () -> f32[3] {\n  ROOT %c = f32[3] constant({1,2,3})\n}\n";
  long before = (long)hr_mem_live_blocks();
  free(exported(text));
  CU_ASSERT_EQUAL((long)hr_mem_live_blocks(), before);
}

CU_TestInfo suite_mlir_text[] = {{"forms print as MLIR's", test_forms},
                                 {"fields left out", test_fields_left_out},
                                 {"names of unknown ops", test_any_names},
                                 {"syntax of particular ops", test_own_syntax},
                                 {"floats", test_floats},
                                 {"errors name their place", test_errors},
                                 {"tuples dissolve", test_export},
                                 {"bitcasts see layouts", test_bitcast},
                                 {"what StableHLO cannot say", test_refused},
                                 {"there and back", test_round_trip},
                                 {"locations by their aliases", test_locations},
                                 {"text in pieces", test_pieces},
                                 {"nothing is lost in memory", test_leaks},
                                 CU_TEST_INFO_NULL};
