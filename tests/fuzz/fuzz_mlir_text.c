/* Whatever bytes are read as MLIR text: no crash, no leak, no more memory than the text is worth,
 * and what is accepted prints as text that reads back and prints the same. With -DHR_FUZZING
 * -fsanitize=fuzzer it is a target of libFuzzer; else a program, see fuzz_driver.h. */
#include <stdio.h>

#include "fuzz_driver.h"
#include "fuzz_reader.h"
#include "ir/print.h"
#include "mlir/text/mlir_parser.h"
#include "mlir/text/mlir_print.h"
#include "ops/rules/verify.h"
#include "read/read.h"
#include "stablehlo/stablehlo.h"

/* The bytes must outlive the tree. */
static hr_status_t parse(const void *data, size_t size, mlir_module_t **out_tree) {
  mlir_module_t *tree;
  HR_TRY(mlir_module_create(&tree));
  tree->source = (hr_source_t){"fuzz", data, size};
  hr_status_t st = mlir_parse_module(tree);
  if (st)
    mlir_module_destroy(tree);
  else
    *out_tree = tree;
  return st;
}

/* A tree prints as text that parses and prints the same. */
static void check_print(const mlir_module_t *tree) {
  hr_strbuf_t first, second;
  mlir_module_t *again;
  hr_strbuf_init(&first);
  hr_strbuf_init(&second);
  mlir_print_module(&first, tree);
  hr_status_t st = parse(first.data, first.size, &again);
  if (st) {
    fprintf(stderr, "%.*s\n", (int)first.size, first.data);
    hr_status_print(stderr, st);
    fuzz_fail("what was printed does not parse");
  }
  mlir_print_module(&second, again);
  fuzz_expect_same(&first, &second, "what was printed parses as something else");
  mlir_module_destroy(again);
  hr_strbuf_deinit(&first);
  hr_strbuf_deinit(&second);
}

static hr_status_t import(const mlir_module_t *tree) {
  hlo_module_t *module;
  hr_strbuf_t text;
  HR_TRY(hlo_module_create(HR_STR("fuzz"), &module));
  module->source = tree->source;
  hr_status_t st = stablehlo_import(tree, &read_stablehlo_pieces, module);
  if (!st) st = hlo_verify(module);
  if (!st) {
    hr_strbuf_init(&text);
    hlo_print_module(&text, module, HLO_PRINT_LONG);
    hr_strbuf_deinit(&text);
    check_print(tree);
  }
  hlo_module_destroy(module);
  return st;
}

static hr_status_t check_input(const uint8_t *data, size_t size) {
  mlir_module_t *tree;
  HR_TRY(parse(data, size, &tree));
  hr_status_t st = import(tree);
  mlir_module_destroy(tree);
  return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return fuzz_check(data, size, check_input);
}

#ifndef HR_FUZZING

static const char *const words[] = {"{",
                                    "}",
                                    "(",
                                    ")",
                                    ",",
                                    "=",
                                    "[",
                                    "]",
                                    "<",
                                    ">",
                                    "<{",
                                    "}>",
                                    "->",
                                    ":",
                                    "%",
                                    "%0",
                                    "%arg0",
                                    "%0#1",
                                    "%0:2 = ",
                                    "@",
                                    "#",
                                    "!",
                                    "^bb0",
                                    "-1",
                                    "0",
                                    "1",
                                    "9223372036854775807",
                                    "-9223372036854775808",
                                    "18446744073709551615",
                                    "4294967296",
                                    "1.0",
                                    "0x7FC00000",
                                    "true",
                                    "unit",
                                    "dense<",
                                    "dense<1>",
                                    "dense<[]>",
                                    "dense<\"0x00\">",
                                    "dense<0> : tensor<0xi64>",
                                    "dense<1> : tensor<9xi64>",
                                    "dense_resource<a>",
                                    "sparse<[0], 1>",
                                    "array<i64>",
                                    "array<i64: 1, -1>",
                                    "array<i1: true>",
                                    "array<f32: 1.0>",
                                    "[1, 2]",
                                    "[@a, \"b\"]",
                                    "{a = 1}",
                                    "\"\"",
                                    "\"\\",
                                    "tensor<",
                                    "tensor<4xf32>",
                                    "tensor<*xf32>",
                                    "tensor<?xi64>",
                                    "tensor<?x4xf32, #stablehlo.bounds<3, ?>>",
                                    "tensor<f8E4M3FN>",
                                    "tensor<i1>",
                                    "tensor<i7>",
                                    "tensor<0x3xui4>",
                                    "tensor<complex<f32>>",
                                    "tensor<4x!quant.uniform<i8:f32, 1.0:0>>",
                                    "tuple<>",
                                    "tuple<tensor<f32>>",
                                    "!stablehlo.token",
                                    "!stablehlo.future<tensor<f32>>",
                                    "vector<4xf32>",
                                    "memref<2xf32>",
                                    "index",
                                    "none",
                                    "() -> ()",
                                    "#stablehlo<precision HIGH>",
                                    "#stablehlo.channel_handle<handle = 1, type = 0>",
                                    "stablehlo.return %0 : tensor<f32>",
                                    "return",
                                    "loc(\"a\"(#loc))",
                                    "x",
                                    "?",
                                    "\n",
                                    "\\",
                                    "\"stablehlo.add\"(%0, %0) : (tensor<f32>, tensor<f32>) -> ()",
                                    "({}) ",
                                    "({^bb0(%a: tensor<f32>): stablehlo.return %a : tensor<f32>})",
                                    "{-# dialect_resources: {builtin: {a: \"0x04\"}} #-}"};

static const char *const builtin[] = {
    "module @m attributes {mhlo.num_partitions = 1 : i32} {\n"
    "  func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> "
    "(tensor<4xf32>, tensor<f32>) {\n"
    "    %c = stablehlo.constant dense<[1.0, 2.5, 0x7FC00000, -0.0]> : tensor<4xf32>\n"
    "    %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "    %0 = stablehlo.add %arg0, %c : tensor<4xf32>\n"
    "    %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : "
    "(tensor<4xf32>, tensor<f32>) -> tensor<f32>\n"
    "    %2:2 = \"stablehlo.sort\"(%0, %c) <{dimension = 0 : i64, is_stable = true}> ({\n"
    "    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %d: tensor<f32>, %e: tensor<f32>):\n"
    "      %p = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> "
    "tensor<i1>\n"
    "      stablehlo.return %p : tensor<i1>\n"
    "    }) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)\n"
    "    return %2#1, %1 : tensor<4xf32>, tensor<f32>\n  }\n}\n",
    "#loc = loc(\"f\":1:2)\nfunc.func @main(%x: tensor<2x4xi32>, %n: tensor<i32>) -> "
    "tensor<4x2xi32> {\n"
    "  %0:2 = stablehlo.while(%i = %n, %y = %x) : tensor<i32>, tensor<2x4xi32>\n"
    "   cond {\n    %k = stablehlo.constant dense<3> : tensor<i32>\n"
    "    %l = stablehlo.compare LT, %i, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>\n    "
    "stablehlo.return %l : tensor<i1>\n"
    "  } do {\n    %j = stablehlo.add %i, %n : tensor<i32>\n    stablehlo.return %j, %x : "
    "tensor<i32>, tensor<2x4xi32>\n  }\n"
    "  %1 = stablehlo.transpose %0#1, dims = [1, 0] : (tensor<2x4xi32>) -> tensor<4x2xi32>\n"
    "  %2 = \"stablehlo.all_to_all\"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, "
    "type = 0>, concat_dimension = 1 : i64, "
    "replica_groups = dense<0> : tensor<1x1xi64>, split_count = 1 : i64, split_dimension = 0 : "
    "i64}> : (tensor<4x2xi32>) -> tensor<4x2xi32> loc(#loc)\n"
    "  %3 = \"stablehlo.case\"(%n) ({ stablehlo.return %2 : tensor<4x2xi32> }, { stablehlo.return "
    "%1 : tensor<4x2xi32> }) : (tensor<i32>) -> tensor<4x2xi32>\n"
    "  return %3 : tensor<4x2xi32>\n}\n",
    "module {\n  func.func @main(%a: tensor<1x3x3x1xf32>, %k: tensor<2x2x1x1xf32>) -> "
    "tensor<1x2x2x1xf32> {\n"
    "    %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
    "window = {stride = [1, 1], "
    "pad = [[0, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
    "(tensor<1x3x3x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x2x1xf32>\n"
    "    %1 = stablehlo.custom_call @f(%0) {backend_config = {a = 1 : i64}, operand_layouts = "
    "[dense<[3, 2, 1, 0]> : tensor<4xindex>], "
    "result_layouts = [dense<[3, 2, 1, 0]> : tensor<4xindex>]} : (tensor<1x2x2x1xf32>) -> "
    "tensor<1x2x2x1xf32>\n"
    "    return %1 : tensor<1x2x2x1xf32>\n  }\n}\n"};

int main(int argc, char **argv) {
  const fuzz_material_t material = {.texts = builtin,
                                    .own_count = sizeof builtin / sizeof *builtin,
                                    .words = words,
                                    .word_count = sizeof words / sizeof *words};
  return fuzz_main(argc, argv, &material);
}

#endif
