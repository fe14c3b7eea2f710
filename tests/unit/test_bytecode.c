/* Bytecode and portable artifacts: what is written reads back as the tree that it was made from. */
#include "mlir/bytecode/bytecode.h"

#include <CUnit/CUnit.h>
#include <CUnit/TestDB.h>
#include <string.h>

#include "mlir/bytecode/bytecode_reader.h"
#include "mlir/bytecode/bytecode_writer.h"
#include "mlir/text/mlir_parser.h"
#include "tests/lib/faults.h"
#include "tests/lib/mlir_tree.h"

static mlir_module_t *read_ok(const void *bytes, size_t size) {
  mlir_module_t *tree;
  CU_ASSERT_PTR_NULL_FATAL(mlir_module_create(&tree));
  tree->source = (hr_source_t){"test", bytes, size};
  hr_status_t st =
      mlir_is_bytecode(bytes, size) ? mlir_read_bytecode(tree) : mlir_parse_module(tree);
  if (st) hr_status_print(stderr, st);
  CU_ASSERT_PTR_NULL_FATAL(st);
  return tree;
}

static void check_trees_equal(const mlir_module_t *a, const mlir_module_t *b) {
  CU_ASSERT_TRUE(tree_ops_equal(a->op, b->op));
}

/* Text → bytecode → tree, compared with the tree of the text. */
static void check_round_trip(const char *text, const mlir_write_options_t *options) {
  hr_buffer_t *bytes;
  mlir_module_t *from = read_ok(text, strlen(text));
  hr_status_t st = mlir_write_bytecode(from, options, &bytes);
  if (st) hr_status_print(stderr, st);
  CU_ASSERT_PTR_NULL_FATAL(st);
  mlir_module_t *back = read_ok(hr_buffer_data(bytes), hr_buffer_size(bytes));
  check_trees_equal(from, back);
  mlir_module_destroy(back);
  mlir_module_destroy(from);
  hr_buffer_release(bytes);
}

static void check_refused(const char *text, int64_t major, int64_t minor, hr_code_t code) {
  const mlir_write_options_t options = {.portable = true, .version = {major, minor, 0}};
  hr_buffer_t *bytes;
  mlir_module_t *from = read_ok(text, strlen(text));
  hr_status_t st = mlir_write_bytecode(from, &options, &bytes);
  CU_ASSERT_EQUAL(hr_status_code(st), code);
  hr_status_release(st);
  mlir_module_destroy(from);
}

/* Every version says this. */
static const char *const plain_text =
    "module @m attributes {mhlo.num_partitions = 2 : i32} {\n"
    "func.func public @main(%a: tensor<4x4xf32> {mhlo.sharding = \"{replicated}\"}, %i: "
    "tensor<i32>, %s: "
    "tensor<2xi32>) -> "
    "(tensor<4x4xf32> {jax.result_info = \"r\"}) {\n"
    "  %c = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>\n"
    "  %d = stablehlo.constant dense<true> : tensor<7xi1>\n"
    "  %e = stablehlo.constant dense<[-1, 3, -8, 7]> : tensor<4xi4>\n"
    "  %f = stablehlo.constant dense<[(1.0, 2.0), (0.5, 0.25)]> : tensor<2xcomplex<f64>>\n"
    "  %g = stablehlo.constant dense<> : tensor<0xbf16>\n"
    "  %h = stablehlo.constant dense<[-9223372036854775808, 5]> : tensor<2xi64>\n"
    "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %0:2 = stablehlo.while(%n = %i, %x = %a) : tensor<i32>, tensor<4x4xf32> cond {\n"
    "    %t = stablehlo.constant dense<10> : tensor<i32>\n"
    "    %p = stablehlo.compare LT, %n, %t, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    stablehlo.return %p : tensor<i1>\n  } do {\n    %y = stablehlo.add %x, %a : "
    "tensor<4x4xf32>\n"
    "    stablehlo.return %n, %y : tensor<i32>, tensor<4x4xf32>\n  }\n"
    "  %1 = stablehlo.dot_general %0#1, %a, contracting_dims = [1] x [0], precision = [HIGH, "
    "DEFAULT] : "
    "(tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>\n"
    "  %2 = \"stablehlo.all_reduce\"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 3, "
    "type = 0>, "
    "replica_groups = "
    "dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({\n  ^bb0(%u: tensor<f32>, %v: "
    "tensor<f32>):\n"
    "    %w = stablehlo.maximum %u, %v : tensor<f32>\n    stablehlo.return %w : tensor<f32>\n  }) "
    ": (tensor<4x4xf32>) "
    "-> tensor<4x4xf32>\n"
    "  %3 = \"stablehlo.gather\"(%2, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = "
    "[0], "
    "collapsed_slice_dims = [0], "
    "start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = "
    "array<i64: 1, 4>}> : "
    "(tensor<4x4xf32>, tensor<2xi32>) -> tensor<4x2xf32>\n"
    "  %4 = \"stablehlo.reduce_window\"(%2, %z) <{padding = dense<[[0, 1], [1, 0]]> : "
    "tensor<2x2xi64>, "
    "window_dimensions = "
    "array<i64: 2, 2>}> ({\n  ^bb0(%u: tensor<f32>, %v: tensor<f32>):\n    %w = stablehlo.add %u, "
    "%v : tensor<f32>\n"
    "    stablehlo.return %w : tensor<f32>\n  }) : (tensor<4x4xf32>, tensor<f32>) -> "
    "tensor<4x4xf32>\n"
    "  %5 = func.call @f(%4) : (tensor<4x4xf32>) -> tensor<4x4xf32>\n  return %5 : "
    "tensor<4x4xf32>\n}\n"
    "func.func private @f(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {\n"
    "  %0 = stablehlo.custom_call @g(%a) {api_version = 2 : i32, backend_config = \"b\", "
    "called_computations = [@f], "
    "has_side_effect = true, mhlo.frontend_attributes = {k = \"v\"}} : (tensor<4x4xf32>) -> "
    "tensor<4x4xf32>\n"
    "  %1 = stablehlo.tanh %0 : tensor<4x4xf32>\n  return %1 : tensor<4x4xf32>\n}\n}\n";

static void test_every_version(void) {
  static const int64_t minors[] = {VHLO_LAST_0 % 100, VHLO_NEWEST % 100};
  size_t live = hr_mem_live_blocks();
  check_round_trip(plain_text, &(mlir_write_options_t){.portable = false});
  for (int64_t major = 0; major < 2; major++)
    for (int64_t minor = major ? 0 : VHLO_OLDEST; minor <= minors[major]; minor++)
      check_round_trip(plain_text,
                       &(mlir_write_options_t){.portable = true, .version = {major, minor, 0}});
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

static const char *const accuracy_text =
    "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = \"stablehlo.log\"(%a) "
    "<{result_accuracy = "
    "#stablehlo.result_accuracy<atol = 1.0, rtol = 0.5, ulps = 10, mode = "
    "#stablehlo.result_accuracy_mode<TOLERANCE>>}> : "
    "(tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n";
static const char *const two_operands_text =
    "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n  %0:2 = \"stablehlo.all_gather\"(%a, "
    "%a) <{all_gather_dim "
    "= 0 : i64, "
    "replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<4xf32>, tensor<4xf32>) -> "
    "(tensor<4xf32>, tensor<4xf32>)\n"
    "  return %0#0 : tensor<4xf32>\n}\n";
static const char *const narrow_text =
    "func.func @main(%a: tensor<4xf4E2M1FN>) -> tensor<4xf4E2M1FN> {\n  return %a : "
    "tensor<4xf4E2M1FN>\n}\n";

static const char *const weak_text =
    "func.func @main(%a: tensor<4xf32>) -> tensor<4xi1> {\n  %0 = stablehlo.compare LT, %a, %a, "
    "WEAKORDER : "
    "(tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>\n  return %0 : tensor<4xi1>\n}\n";
static const char *const three_steps_text =
    "func.func @main(%a: tensor<4x4xbf16>) -> tensor<4x4xf32> {\n  %0 = stablehlo.dot_general %a, "
    "%a, contracting_dims "
    "= [1] x [0], algorithm = <lhs_precision_type = f8E4M3FN, rhs_precision_type = f8E4M3FN, "
    "accumulation_type = f32, "
    "lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, "
    "allow_imprecise_accumulation = "
    "false> : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xf32>\n  return %0 : "
    "tensor<4x4xf32>\n}\n";

/* What a version cannot say is refused, and said in the first one that can. */
static void test_new_features(void) {
  check_refused(accuracy_text, 1, 9, HR_UNSUPPORTED);
  check_round_trip(accuracy_text, &(mlir_write_options_t){.portable = true, .version = {1, 10, 0}});
  check_refused(two_operands_text, 1, 4, HR_UNSUPPORTED);
  check_round_trip(two_operands_text,
                   &(mlir_write_options_t){.portable = true, .version = {1, 5, 0}});
  check_refused(narrow_text, 1, 7, HR_UNSUPPORTED);
  check_round_trip(narrow_text, &(mlir_write_options_t){.portable = true, .version = {1, 8, 0}});
  check_refused(three_steps_text, 1, 20, HR_UNSUPPORTED);
  check_round_trip(three_steps_text,
                   &(mlir_write_options_t){.portable = true, .version = {1, 21, 0}});
  check_refused(weak_text, 1, 21, HR_UNSUPPORTED);
  check_round_trip(weak_text, &(mlir_write_options_t){.portable = true, .version = {1, 22, 0}});
  check_refused(narrow_text, 0, 8, HR_INVALID);
  check_refused(narrow_text, 2, 0, HR_INVALID);
}

/* Types that only some dialects encode; quantised ones, bounds, buffers. */
static void test_types(void) {
  const char *text =
      "func.func @main(%a: tensor<?x4xf32, #stablehlo.bounds<8, ?>>, %b: "
      "tensor<4x!quant.uniform<i8:f32, 0.5:3>>, %c: "
      "tensor<4x2x!quant.uniform<u8<1:200>:f32:1, {0.5:3, 0.25}>>, %d: !stablehlo.token, %e: "
      "tuple<tensor<f32>, "
      "tuple<>>, %f: "
      "memref<4xf32>, %g: tensor<2xui2>, %h: tensor<2xf8E4M3FN>) {\n  return\n}\n";
  check_round_trip(text, &(mlir_write_options_t){.portable = false});
  check_round_trip(text, &(mlir_write_options_t){.portable = true});
  check_refused(text, 1, 12, HR_UNSUPPORTED);
}

static void test_plain_dialects(void) {
  const char *text =
      "module {\n\"sdy.mesh\"() <{mesh = #sdy.mesh<[\"x\"=4]>, sym_name = \"mesh\"}> : () -> ()\n"
      "func.func @main(%a: tensor<4xf32>) -> tensor<2xf32> {\n"
      "  %0 = \"chlo.broadcast_compare\"(%a, %a) <{compare_type = #chlo<comparison_type FLOAT>, "
      "comparison_direction = "
      "#chlo<comparison_direction LT>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>\n"
      "  %1:2 = \"chlo.top_k\"(%a) <{k = 2 : i64}> : (tensor<4xf32>) -> (tensor<2xf32>, "
      "tensor<2xi32>)\n"
      "  %2 = \"my.op\"(%a) {x = 1 : i64, y.z = [unit, 1.5 : f64, @s::@t, i8, array<i1: true, "
      "false>]} : "
      "(tensor<4xf32>) -> tensor<4xf32>\n"
      "  %3 = \"stablehlo.custom_call\"(%a) <{call_target_name = \"f\", result_tilings = "
      "[[dense<1> : "
      "tensor<1xindex>]]}> : "
      "(tensor<4xf32>) -> tensor<4xf32>\n  return %1#0 : tensor<2xf32>\n}\n}\n";
  hr_buffer_t *bytes;
  mlir_module_t *from = read_ok(text, strlen(text));
  hr_status_t st = mlir_write_bytecode(from, &(mlir_write_options_t){.portable = false}, &bytes);
  if (st) hr_status_print(stderr, st);
  CU_ASSERT_PTR_NULL_FATAL(st);
  mlir_module_t *back = read_ok(hr_buffer_data(bytes), hr_buffer_size(bytes));
  mlir_region_t *left = from->op->regions[0], *right = back->op->regions[0];
  CU_ASSERT_TRUE(
      tree_ops_equal(left->blocks.data[0]->ops.data[1], right->blocks.data[0]->ops.data[1]));
  /* The generic text names the kind of a mesh, the tree of the pretty form and of bytecode does
   * not. */
  const mlir_attr_t *mesh = mlir_op_attr(right->blocks.data[0]->ops.data[0], "mesh");
  CU_ASSERT_PTR_NOT_NULL_FATAL(mesh);
  CU_ASSERT_TRUE(hr_str_is(mesh->text, "[\"x\"=4]"));
  mlir_module_destroy(back);
  mlir_module_destroy(from);
  hr_buffer_release(bytes);
}

/* A reader over bytes that are no file, for the primitives. */
static void check_number(uint64_t value, size_t size) {
  mlir_module_t module = {0};
  hr_strbuf_t text;
  uint64_t back;
  int64_t signed_back;
  hr_strbuf_init(&text);
  bytecode_put_var(&text, value);
  CU_ASSERT_EQUAL(text.size, size);
  bytecode_put_svar(&text, (int64_t)value);
  bytecode_reader_t reader = {.module = &module, .start = (const uint8_t *)text.data};
  bytecode_cursor_t cursor = {reader.start, reader.start + text.size};
  CU_ASSERT_PTR_NULL(bytecode_take_var(&reader, &cursor, &back));
  CU_ASSERT_EQUAL(back, value);
  CU_ASSERT_PTR_NULL(bytecode_take_svar(&reader, &cursor, &signed_back));
  CU_ASSERT_EQUAL(signed_back, (int64_t)value);
  CU_ASSERT_EQUAL(bytecode_left(&cursor), 0);
  hr_strbuf_deinit(&text);
}

static void test_numbers(void) {
  check_number(0, 1);
  check_number(127, 1);
  check_number(128, 2);
  check_number((UINT64_C(1) << 14) - 1, 2);
  check_number(UINT64_C(1) << 14, 3);
  check_number((UINT64_C(1) << 56) - 1, 8);
  check_number(UINT64_C(1) << 56, 9);
  check_number(UINT64_C(1) << 63, 9);
  check_number(UINT64_MAX, 9);
}

/* Every beginning of a file, and every file with one byte changed, is read without harm. */
static void test_damage(void) {
  hr_buffer_t *bytes;
  mlir_module_t *from = read_ok(plain_text, strlen(plain_text));
  CU_ASSERT_PTR_NULL_FATAL(
      mlir_write_bytecode(from, &(mlir_write_options_t){.portable = true}, &bytes));
  mlir_module_destroy(from);
  uint8_t *data = hr_buffer_data(bytes);
  size_t size = hr_buffer_size(bytes), live = hr_mem_live_blocks(), refused = 0;
  for (size_t i = 0; i < 2 * size; i++) {
    mlir_module_t *tree;
    size_t at = i % size;
    if (i >= size) data[at] ^= 0x2a;
    CU_ASSERT_PTR_NULL_FATAL(mlir_module_create(&tree));
    tree->source = (hr_source_t){"test", (char *)data, i < size ? at : size};
    hr_status_t st = mlir_read_bytecode(tree);
    refused += st != NULL;
    hr_status_release(st);
    mlir_module_destroy(tree);
    if (i >= size) data[at] ^= 0x2a;
  }
  CU_ASSERT_TRUE(refused >= size);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
  hr_buffer_release(bytes);
}

/* Attributes share their parts in a file, so that few bytes stand for many. Doubles an attribute of
 * two parts `levels` times; the code of reading it back. */
static hr_code_t read_doubled(int levels) {
  static const char text[] = "module attributes {mhlo.x = [1, 2]} {}";
  hr_buffer_t *bytes;
  mlir_module_t *from = read_ok(text, strlen(text)), *back;
  mlir_op_t *op = (mlir_op_t *)from->op;
  const mlir_attr_t *attr = mlir_op_attr(op, "mhlo.x");
  CU_ASSERT_PTR_NOT_NULL_FATAL(attr);
  for (int i = 0; i < levels; i++) {
    const mlir_attr_t *both[] = {attr, attr};
    CU_ASSERT_PTR_NULL_FATAL(mlir_make_array(&from->arena, 2, both, &attr));
  }
  op->extras = &(mlir_named_attr_t){HR_STR("mhlo.x"), attr};
  op->extra_count = 1;
  CU_ASSERT_PTR_NULL_FATAL(mlir_write_bytecode(from, &(mlir_write_options_t){0}, &bytes));
  CU_ASSERT_TRUE(hr_buffer_size(bytes) < 2000);
  CU_ASSERT_PTR_NULL_FATAL(mlir_module_create(&back));
  back->source = (hr_source_t){"test", hr_buffer_data(bytes), hr_buffer_size(bytes)};
  hr_status_t st = mlir_read_bytecode(back);
  hr_code_t code = hr_status_code(st);
  hr_status_release(st);
  mlir_module_destroy(back);
  mlir_module_destroy(from);
  hr_buffer_release(bytes);
  return code;
}

static void test_shared_attributes(void) {
  CU_ASSERT_EQUAL(read_doubled(13), HR_OK); /* 2^15 parts */
  CU_ASSERT_EQUAL(read_doubled(15), HR_INVALID);
  CU_ASSERT_EQUAL(read_doubled(40), HR_INVALID);
}

/* Writes the tree, then reads what was written. */
static hr_status_t attempt_there_and_back(size_t n, void *from) {
  hr_buffer_t *bytes = NULL;
  mlir_module_t *back = NULL;
  faults_begin(n);
  hr_status_t st = mlir_write_bytecode(from, &(mlir_write_options_t){.portable = true}, &bytes);
  if (!st) st = mlir_module_create(&back);
  if (!st) {
    back->source = (hr_source_t){"test", hr_buffer_data(bytes), hr_buffer_size(bytes)};
    st = mlir_read_bytecode(back);
  }
  faults_end();
  mlir_module_destroy(back);
  hr_buffer_release(bytes);
  return st;
}

static void test_faults(void) {
  mlir_module_t *from = read_ok(plain_text, strlen(plain_text));
  CU_ASSERT_TRUE(faults_try(attempt_there_and_back, from) > 8);
  mlir_module_destroy(from);
}

CU_TestInfo suite_bytecode[] = {{"numbers", test_numbers},
                                {"every version says what all can", test_every_version},
                                {"new features want new versions", test_new_features},
                                {"types", test_types},
                                {"other dialects", test_plain_dialects},
                                {"attributes of many parts", test_shared_attributes},
                                {"damaged files", test_damage},
                                {"failing allocations", test_faults},
                                CU_TEST_INFO_NULL};
