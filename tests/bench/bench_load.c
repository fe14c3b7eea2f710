/* Times loading: reading a program of any form, and verifying it.
 *   bench_load [FILE...]     without files: made programs of many ops, without and with locations,
 * of a blob, of many decimals, as HLO text, StableHLO text and bytecode */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "bench_tools.h"
#include "ir/print.h"
#include "mlir/bytecode/bytecode.h"
#include "ops/rules/verify.h"
#include "read/read.h"

#define OPS 100000
#define BLOB_BYTES 25000000 /* 50 MB of hexadecimal digits */
#define DECIMALS 1000000

static size_t count_ops(const hlo_module_t *module) {
  size_t count = 0;
  for (size_t i = 0; i < module->computations.count; i++)
    count += module->computations.data[i]->instrs.count;
  return count;
}

static void bench(const char *name, hr_buffer_t *bytes) {
  hlo_module_t *module;
  double start = hr_clock_s(), megabytes = (double)hr_buffer_size(bytes) / 1e6;
  bench_check(read_module(name, bytes, &module));
  double read = hr_clock_s();
  bench_check(hlo_verify(module));
  double verified = hr_clock_s(), ops = (double)count_ops(module);
  printf("%-24s %8.2f MB %9.0f ops   read %7.3f s %8.1f MB/s %10.0f ops/s   verify %7.3f s\n", name,
         megabytes, ops, read - start, megabytes / (read - start), ops / (read - start),
         verified - read);
  hlo_module_destroy(module);
}

static hr_buffer_t *bytes_of(hr_strbuf_t *text) {
  hr_buffer_t *bytes;
  bench_check(hr_strbuf_finish(text));
  bench_check(hr_buffer_create(text->size, &bytes));
  memcpy(hr_buffer_data(bytes), text->data, text->size);
  hr_strbuf_deinit(text);
  return bytes;
}

/* --- made programs --- */

static void add_ops(hr_strbuf_t *text) {
  static const char *const ops[] = {"add", "multiply", "maximum", "subtract"};
  hr_strbuf_add_str(
      text,
      "func.func @main(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {\n  %0 = stablehlo.tanh %arg0 : "
      "tensor<4x8xf32>\n  %1 = stablehlo.negate %0 : tensor<4x8xf32>\n");
  for (int i = 2; i < OPS; i++)
    hr_strbuf_printf(text, "  %%%d = stablehlo.%s %%%d, %%%d : tensor<4x8xf32>\n", i, ops[i % 4],
                     i - 1, i - 2);
  hr_strbuf_printf(text, "  return %%%d : tensor<4x8xf32>\n}\n", OPS - 1);
}

/* A program with a location for each op, a call within calls, in four aliases after the program
 * as JAX has them. */
static void add_located_ops(hr_strbuf_t *text) {
  hr_strbuf_add_str(
      text,
      "func.func @main(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {\n  %0 = stablehlo.tanh %arg0 : "
      "tensor<4x8xf32>\n");
  for (int i = 1; i < OPS; i++)
    hr_strbuf_printf(text, "  %%%d = stablehlo.add %%%d, %%%d : tensor<4x8xf32> loc(#loc%d)\n", i,
                     i - 1, i - 1, 4 * i + 3);
  hr_strbuf_printf(
      text, "  return %%%d : tensor<4x8xf32>\n}\n#loc = loc(\"train.py\":99:8 to :44)\n", OPS - 1);
  hr_strbuf_add_str(text, "#loc1 = loc(callsite(\"step\"(\"train.py\":50:4) at #loc))\n");
  for (int i = 1; i < OPS; i++) {
    hr_strbuf_printf(text, "#loc%d = loc(\"/somewhere/of/the/model/layers_%d.py\":%d:4 to :30)\n",
                     4 * i, i % 40, i);
    hr_strbuf_printf(text, "#loc%d = loc(\"call_%d\"(#loc%d))\n", 4 * i + 1, i % 7, 4 * i);
    hr_strbuf_printf(text, "#loc%d = loc(callsite(#loc%d at #loc1))\n", 4 * i + 2, 4 * i + 1);
    hr_strbuf_printf(text, "#loc%d = loc(\"jit(main)/layer_%d/add\"(#loc%d))\n", 4 * i + 3, i,
                     4 * i + 2);
  }
}

static void add_constant(hr_strbuf_t *text, int64_t count,
                         void (*add_elements)(hr_strbuf_t *text, int64_t count)) {
  hr_strbuf_printf(text,
                   "func.func @main() -> tensor<%ldxf32> {\n  %%c = stablehlo.constant dense<",
                   (long)count);
  add_elements(text, count);
  hr_strbuf_printf(text, "> : tensor<%ldxf32>\n  return %%c : tensor<%ldxf32>\n}\n", (long)count,
                   (long)count);
}

static void add_blob(hr_strbuf_t *text, int64_t count) {
  hr_strbuf_add_str(text, "\"0x");
  for (int64_t i = 0; i < count; i++)
    hr_strbuf_printf(text, "%08X", (unsigned)i * 2654435761u & 0x7F7FFFFF);
  hr_strbuf_add_str(text, "\"");
}

static void add_decimals(hr_strbuf_t *text, int64_t count) {
  uint32_t bits = 1;
  for (int64_t i = 0; i < count; i++) {
    bits = bits * 1664525 + 1013904223;
    hr_strbuf_printf(text, "%s%.8e", i ? ", " : "[", ((double)bits - 0x1p31) / 0x1p31);
  }
  hr_strbuf_add_str(text, "]");
}

static hr_buffer_t *bytecode_of(hr_buffer_t *bytes) {
  mlir_module_t *tree;
  hr_buffer_t *bytecode;
  bench_check(read_tree("made", bytes, &tree));
  bench_check(mlir_write_bytecode(tree, &(mlir_write_options_t){.portable = true}, &bytecode));
  mlir_module_destroy(tree);
  return bytecode;
}

static hr_buffer_t *hlo_text_of(hr_buffer_t *bytes) {
  hlo_module_t *module;
  hr_strbuf_t text;
  bench_check(read_module("made", bytes, &module));
  hr_strbuf_init(&text);
  hlo_print_module(&text, module, HLO_PRINT_LONG);
  hlo_module_destroy(module);
  return bytes_of(&text);
}

/* The program in each form; releases the bytes. */
static void bench_forms(const char *what, hr_buffer_t *bytes) {
  char name[64];
  hr_buffer_t *bytecode = bytecode_of(bytes), *hlo = hlo_text_of(bytes);
  snprintf(name, sizeof name, "%s StableHLO", what);
  bench(name, bytes);
  snprintf(name, sizeof name, "%s bytecode", what);
  bench(name, bytecode);
  snprintf(name, sizeof name, "%s HLO", what);
  bench(name, hlo);
  hr_buffer_release(bytes);
  hr_buffer_release(bytecode);
  hr_buffer_release(hlo);
}

int main(int argc, char **argv) {
  hr_buffer_t *bytes;
  hr_strbuf_t text;
  for (int i = 1; i < argc; i++) {
    bench_check(hr_buffer_map_file(argv[i], &bytes));
    bench(argv[i], bytes);
    hr_buffer_release(bytes);
  }
  if (argc > 1) return 0;
  hr_strbuf_init(&text);
  add_ops(&text);
  bench_forms("ops", bytes_of(&text));
  hr_strbuf_init(&text);
  add_located_ops(&text);
  bench_forms("located", bytes_of(&text));
  hr_strbuf_init(&text);
  add_constant(&text, BLOB_BYTES / 4, add_blob);
  bench_forms("blob", bytes_of(&text));
  hr_strbuf_init(&text);
  add_constant(&text, DECIMALS, add_decimals);
  bench_forms("decimals", bytes_of(&text));
  return 0;
}
