/* Whatever bytes are read: no crash, no leak, and what is accepted prints as text that reads back
 * and prints the same. With -DHR_FUZZING -fsanitize=fuzzer it is a target of libFuzzer; else a
 * program, see fuzz_driver.h. */
#include <stdio.h>

#include "fuzz_driver.h"
#include "fuzz_reader.h"
#include "ir/print.h"
#include "ops/rules/verify.h"
#include "read/read.h"

#define LITERAL_BYTES_MAX ((size_t)4 << 20)

/* The bytes must outlive the module. */
static hr_status_t read_bytes(const void *data, size_t size, hlo_module_t **out_module) {
  hlo_module_t *module;
  HR_TRY(hlo_module_create(HR_STR("fuzz"), &module));
  module->source = (hr_source_t){"fuzz", data, size};
  hr_status_t st = read_hlo_text(module);
  if (st)
    hlo_module_destroy(module);
  else
    *out_module = module;
  return st;
}

/* A short text can have a large literal: `s32[99999999] constant(4)`. */
static bool is_printed_fast(const hlo_module_t *module) {
  for (size_t c = 0; c < module->computations.count; c++) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count; i++) {
      const hlo_instr_t *instr = computation->instrs.data[i];
      if (instr->literal && hlo_value_bytes(instr->literal) > LITERAL_BYTES_MAX) return false;
    }
  }
  return true;
}

/* A verified module prints as text that reads back the same. */
static void check_print(const hlo_module_t *module) {
  hr_strbuf_t first, second;
  hlo_module_t *again;
  hr_strbuf_init(&first);
  hr_strbuf_init(&second);
  hlo_print_module(&first, module, HLO_PRINT_LONG);
  hr_status_t st = read_bytes(first.data, first.size, &again);
  if (st) {
    hr_status_print(stderr, st);
    fuzz_fail("what was printed does not read back");
  }
  hlo_print_module(&second, again, HLO_PRINT_LONG);
  fuzz_expect_same(&first, &second, "what was printed reads back different");
  hlo_module_destroy(again);
  hr_strbuf_deinit(&first);
  hr_strbuf_deinit(&second);
}

static void check_dot(const hlo_module_t *module) {
  hr_strbuf_t dot;
  hr_strbuf_init(&dot);
  hlo_print_dot(&dot, module);
  hr_strbuf_deinit(&dot);
}

static hr_status_t check_input(const uint8_t *data, size_t size) {
  hlo_module_t *module;
  HR_TRY(read_bytes(data, size, &module));
  hr_status_t st = hlo_verify(module);
  if (!st && is_printed_fast(module)) {
    check_print(module);
    check_dot(module);
  }
  hlo_module_destroy(module);
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
                                    "{...}",
                                    "%",
                                    "-1",
                                    "0",
                                    "1",
                                    "9999999999",
                                    "-9223372036854775808",
                                    "18446744073709551615",
                                    "nan",
                                    "inf",
                                    "-0",
                                    "f32[]",
                                    "s4[2]{0:E(4)}",
                                    "pred[]",
                                    "(f32[], token[])",
                                    "ROOT ",
                                    "1e400",
                                    "parameter(1)",
                                    ", sharding={replicated}",
                                    ", metadata={op_name=\"x\"}",
                                    "/*",
                                    "\"",
                                    "\\",
                                    "{{0,1}}",
                                    "[2,4]<=[8]",
                                    "constant(1)",
                                    "\n",
                                    "_",
                                    "f32[<=3,?]",
                                    ", to_apply={a = f32[] parameter(0)}"};

static const char *const builtin[] = {
    "HloModule a, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }, "
    "num_partitions=2\n\n"
    "%add (x: f32[], y: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n  %y = f32[] parameter(1)\n"
    "  ROOT %s = f32[] add(%x, %y)\n}\n\nENTRY %e (p: f32[8]) -> f32[8] {\n"
    "  %p = f32[8]{0} parameter(0), sharding={devices=[2,1,2]<=[2,2]T(1,0) "
    "last_tile_dim_replicate}\n"
    "  %n = f32[8]{0} negate(%p), metadata={op_name=\"jit(f)/neg\" source_line=3}, "
    "backend_config={\"a\":{\"b\":1}}\n"
    "  ROOT %r = f32[8]{0} all-reduce(%n), channel_id=1, replica_groups=[1,2]<=[2], "
    "use_global_device_ids=true, "
    "to_apply=%add, control-predecessors={%p}\n}\n",
    "HloModule b\nENTRY e {\n  k = (f32[2,2], pred[3], c64[1]) constant(({{1,-0},{nan(0x7),inf}}, "
    "{1,0,1}, "
    "{(1,2)}))\n"
    "  g = f32[2,2] get-tuple-element(k), index=0\n  z = f32[] constant(0)\n"
    "  w = f32[2,2] reduce-window(g, z), window={size=2x1 pad=1_0x0_0}, to_apply={ a = f32[] "
    "parameter(0) "
    "b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }\n  s = f32[1,2] slice(w), "
    "slice={[0:2:2], [0:2]}\n"
    "  ROOT t = (f32[1,2], f32[3,2]) tuple(s, f32[3,2] pad(w, z), padding=0_1x0_0)\n}\n",
    "f32[4] add(f32[4] negate(f32[4] a), f32[4] multiply(f32[4] a, f32[4] b))",
    "HloModule c\nENTRY e {\n  x = f32[<=4,2]{1,0:T(8,128)S(1)} parameter(0), origin={{\"x\" "
    "{0}}}\n"
    "  st = ((f32[<=4,2]), f32[<=4,2], u32[]) custom-call-start(x), custom_call_target=\"t\", "
    "literal=s32[2]{0} {1, "
    "2}\n"
    "  ROOT d = f32[<=4,2] custom-call-done(st), frontend_attributes={a=\"b\",c={d}}\n}\n",
};

int main(int argc, char **argv) {
  const fuzz_material_t material = {.texts = builtin,
                                    .own_count = sizeof builtin / sizeof *builtin,
                                    .words = words,
                                    .word_count = sizeof words / sizeof *words};
  return fuzz_main(argc, argv, &material);
}

#endif
