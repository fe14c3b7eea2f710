/* Whatever bytes are read: no crash, no leak. What is accepted as bytecode is written again, and
 * that is read: programs that no verifier has seen may be written wrong, but what comes of them is
 * a clean error. With -DHR_FUZZING -fsanitize=fuzzer it is a target of libFuzzer; else a program,
 * see fuzz_driver.h. */
#include <stdio.h>
#include <string.h>

#include "fuzz_driver.h"
#include "fuzz_reader.h"
#include "mlir/bytecode/bytecode.h"
#include "mlir/text/mlir_parser.h"
#include "ops/rules/verify.h"
#include "read/read.h"

static hr_status_t load_tree(const void *bytes, size_t size, mlir_module_t **out_tree) {
  mlir_module_t *tree;
  HR_TRY(mlir_module_create(&tree));
  tree->source = (hr_source_t){"fuzz", bytes, size};
  hr_status_t st =
      mlir_is_bytecode(bytes, size) ? mlir_read_bytecode(tree) : mlir_parse_module(tree);
  if (st)
    mlir_module_destroy(tree);
  else
    *out_tree = tree;
  return st;
}

/* Not every tree can be written. */
static void check_write(const mlir_module_t *tree, bool portable) {
  const mlir_write_options_t options = {.portable = portable};
  hr_buffer_t *bytes;
  mlir_module_t *again = NULL;
  hr_status_t st = mlir_write_bytecode(tree, &options, &bytes);
  if (st) {
    fuzz_drop_status(st);
    return;
  }
  st = load_tree(hr_buffer_data(bytes), hr_buffer_size(bytes), &again);
  fuzz_drop_status(st);
  mlir_module_destroy(again);
  hr_buffer_release(bytes);
}

static void run_tree(const uint8_t *data, size_t size) {
  mlir_module_t *tree;
  hr_status_t st = load_tree(data, size, &tree);
  if (st) {
    fuzz_drop_status(st);
    return;
  }
  check_write(tree, false);
  check_write(tree, true);
  mlir_module_destroy(tree);
}

static hr_status_t check_input(const uint8_t *data, size_t size) {
  hlo_module_t *module;
  if (mlir_is_bytecode(data, size)) run_tree(data, size);
  HR_TRY(fuzz_read_module(data, size, &module));
  hr_status_t st = hlo_verify(module);
  hlo_module_destroy(module);
  return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return fuzz_check(data, size, check_input);
}

#ifndef HR_FUZZING

/* Most changes keep the length, since sections say theirs. */
static void mutate(fuzz_bytes_t *file, const fuzz_bytes_t *other) {
  static const uint8_t words[] = {0, 1, 2, 3, 5, 0x7f, 0x80, 0xfe, 0xff, 0xcb};
  size_t at = fuzz_random_below(file->size + 1), left = file->size - at;
  if (!left) return;
  switch (fuzz_random_below(8)) {
    case 0:
    case 1:
      file->data[at] ^= (char)(1u << fuzz_random_below(8));
      break;
    case 2:
      file->data[at] = words[fuzz_random_below(sizeof words)];
      break;
    case 3:
      file->data[at] = (char)(file->data[at] + (fuzz_random_below(2) ? 2 : -2));
      break; /* a number next to it */
    case 4:
      file->data[at] = file->data[fuzz_random_below(file->size)];
      break;
    case 5: { /* a piece of another file */
      size_t from = fuzz_random_below(other->size + 1), size = fuzz_random_below(24);
      if (size > other->size - from) size = other->size - from;
      memmove(file->data + at, other->data + from, size < left ? size : left);
      break;
    }
    case 6: /* a byte more, or one less */
      if (fuzz_random_below(2) && file->size < FUZZ_BYTES_MAX) {
        memmove(file->data + at + 1, file->data + at, left);
        file->size++;
      } else {
        memmove(file->data + at, file->data + at + 1, left - 1);
        file->size--;
      }
      break;
    default:
      file->size = fuzz_random_below(20) ? file->size : at;
      break;
  }
}

static const char *const builtin[] = {
    "module @m attributes {mhlo.num_partitions = 2 : i32} {\n"
    "func.func public @main(%a: tensor<4x4xf32> {mhlo.sharding = \"{replicated}\"}, %i: "
    "tensor<i32>) -> "
    "tensor<4x4xf32> {\n"
    "  %c = stablehlo.constant dense<[[true, false], [false, true]]> : tensor<2x2xi1>\n"
    "  %k = stablehlo.constant dense<[(1.0, 2.0), (0.5, 0.25)]> : tensor<2xcomplex<f32>>\n"
    "  %0:2 = stablehlo.while(%n = %i, %x = %a) : tensor<i32>, tensor<4x4xf32> cond {\n"
    "    %t = stablehlo.constant dense<10> : tensor<i32>\n"
    "    %p = stablehlo.compare LT, %n, %t, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    stablehlo.return %p : tensor<i1>\n  } do {\n    %y = stablehlo.add %x, %a : "
    "tensor<4x4xf32>\n"
    "    %m = stablehlo.add %n, %n : tensor<i32>\n    stablehlo.return %m, %y : tensor<i32>, "
    "tensor<4x4xf32>\n  }\n"
    "  %d = stablehlo.dot_general %0#1, %a, contracting_dims = [1] x [0], precision = [HIGH, "
    "DEFAULT] : "
    "(tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>\n"
    "  %r = func.call @f(%d) : (tensor<4x4xf32>) -> tensor<4x4xf32>\n  return %r : "
    "tensor<4x4xf32>\n}\n"
    "func.func private @f(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {\n"
    "  %0 = stablehlo.custom_call @g(%a) {backend_config = \"b\", called_computations = [@f], "
    "has_side_effect = "
    "true} : "
    "(tensor<4x4xf32>) -> tensor<4x4xf32>\n  %1 = stablehlo.tanh %0 : tensor<4x4xf32>\n  return %1 "
    ": "
    "tensor<4x4xf32>\n}\n}\n",
    "func.func @main(%x: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x8xf32>, %d: tensor<?x4xf32, "
    "#stablehlo.bounds<8, ?>>, "
    "%q: tensor<4x!quant.uniform<i8:f32, 0.5:3>>, %i: tensor<2xi32>) -> tensor<1x6x6x8xf32> {\n"
    "  %c = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
    "window = {} "
    "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, "
    "tensor<3x3x4x8xf32>) -> "
    "tensor<1x6x6x8xf32>\n"
    "  %e = stablehlo.exponential %d : tensor<?x4xf32, #stablehlo.bounds<8, ?>>\n"
    "  %f = stablehlo.uniform_dequantize %q : (tensor<4x!quant.uniform<i8:f32, 0.5:3>>) -> "
    "tensor<4xf32>\n"
    "  %g = \"stablehlo.gather\"(%f, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [], "
    "collapsed_slice_dims = [0], "
    "start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<4xf32>, "
    "tensor<2xi32>) -> "
    "tensor<2xf32>\n"
    "  return %c : tensor<1x6x6x8xf32>\n}\n"};

static const mlir_write_options_t forms[] = {{.portable = false},
                                             {.portable = true},
                                             {.portable = true, .version = {1, 0, 0}},
                                             {.portable = true, .version = {0, 13, 0}},
                                             {.portable = true, .version = {0, 9, 0}}};

enum { TEXTS = sizeof builtin / sizeof *builtin, FORMS = sizeof forms / sizeof *forms };

/* A text as bytecode of one form. */
static fuzz_bytes_t builtin_file(int index) {
  const char *text = builtin[index / FORMS];
  mlir_module_t *tree;
  hr_buffer_t *bytes;
  hr_status_t st = load_tree(text, strlen(text), &tree);
  if (!st) st = mlir_write_bytecode(tree, &forms[index % FORMS], &bytes);
  if (st) {
    hr_status_print(stderr, st);
    fuzz_fail("a text of its own cannot be written");
  }
  fuzz_bytes_t file = fuzz_copy(hr_buffer_data(bytes), hr_buffer_size(bytes));
  hr_buffer_release(bytes);
  mlir_module_destroy(tree);
  return file;
}

int main(int argc, char **argv) {
  const fuzz_material_t material = {
      .own = builtin_file, .own_count = TEXTS * FORMS, .mutate = mutate};
  return fuzz_main(argc, argv, &material);
}

#endif
