/* Whatever bytes are read: no crash, no leak, memory in proportion to them; and what is accepted is
 * written as a proto that reads back and prints the same. With -DHR_FUZZING -fsanitize=fuzzer it is
 * a target of libFuzzer; else a program, see fuzz_driver.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_driver.h"
#include "fuzz_reader.h"
#include "ir/print.h"
#include "ops/rules/verify.h"
#include "proto/hlo_proto.h"
#include "proto_mutator.h"
#include "read/read.h"

/* The bytes must outlive the module. */
static hr_status_t read_bytes(const void *data, size_t size, hlo_module_t **out_module) {
  hlo_module_t *module;
  HR_TRY(hlo_module_create(HR_STR("fuzz"), &module));
  module->source = (hr_source_t){"fuzz", data, size};
  hr_status_t st = read_hlo_proto(module);
  if (module->arena.total_bytes > (64u << 20) + 512 * size) fuzz_fail("memory out of proportion");
  if (st)
    hlo_module_destroy(module);
  else
    *out_module = module;
  return st;
}

static void check_write(const hlo_module_t *module, hlo_proto_form_t form) {
  hr_strbuf_t first, second;
  hr_buffer_t *bytes;
  hlo_module_t *again = NULL;
  hr_strbuf_init(&first);
  hr_strbuf_init(&second);
  hlo_print_module(&first, module, HLO_PRINT_LONG);
  hr_status_t st = write_hlo_proto(module, form, &bytes);
  if (!st) st = read_bytes(hr_buffer_data(bytes), hr_buffer_size(bytes), &again);
  if (st) {
    hr_status_print(stderr, st);
    fuzz_fail("what was written does not read back");
  }
  hlo_print_module(&second, again, HLO_PRINT_LONG);
  fuzz_expect_same(&first, &second, "what was written reads back different");
  hlo_module_destroy(again);
  hr_buffer_release(bytes);
  hr_strbuf_deinit(&first);
  hr_strbuf_deinit(&second);
}

static hr_status_t check_input(const uint8_t *data, size_t size) {
  hlo_module_t *module;
  hlo_proto_is((hr_str_t){(const char *)data, size});
  HR_TRY(read_bytes(data, size, &module));
  hr_status_t st = hlo_verify(module);
  if (!st) check_write(module, size % 2 ? HLO_PROTO_MODULE : HLO_PROTO_HLO);
  hlo_module_destroy(module);
  return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return fuzz_check(data, size, check_input);
}

#ifndef HR_FUZZING

static const char *const builtin[] = {
    "HloModule a, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }, "
    "num_partitions=2, "
    "frontend_attributes={k=\"v\"}\n\nFileNames\n1 \"a.py\"\n\nFunctionNames\n1 "
    "\"f\"\n\nFileLocations\n"
    "1 {file_name_id=1 function_name_id=1 line=1 end_line=1 column=1 end_column=2}\n\nStackFrames\n"
    "1 {file_location_id=1 parent_frame_id=1}\n\n\n"
    "%add (x: f32[], y: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n  %y = f32[] parameter(1)\n"
    "  ROOT %s = f32[] add(%x, %y)\n}\n\nENTRY %e (p: f32[8]) -> f32[8] {\n"
    "  %p = f32[8]{0} parameter(0), sharding={devices=[2,1,2]<=[2,2]T(1,0) "
    "last_tile_dim_replicate}\n"
    "  %n = f32[8]{0} negate(%p), metadata={op_name=\"jit(f)/neg\" source_line=3}, "
    "backend_config={\"a\":{\"b\":1}}\n"
    "  %m = f32[8]{0} all-reduce(%n), replica_groups=mesh['a'=2,'b'=4] {'b'}, to_apply=%add, "
    "sharding={mesh['a'=2,'b'=4], [{'b':(1)2, ?}], replicated={'a'}}\n"
    "  ROOT %r = f32[8]{0} all-reduce(%m), channel_id=1, replica_groups=[1,2]<=[2], "
    "use_global_device_ids=true, "
    "to_apply=%add, control-predecessors={%p}\n}\n",
    "HloModule b\nENTRY e {\n  k = (f32[2,2], pred[3], c64[1], s4[3]) "
    "constant(({{1,-0},{nan(0x7),inf}}, {1,0,1}, "
    "{(1,2)}, {-8,7,1}))\n  g = f32[2,2] get-tuple-element(k), index=0\n  z = f32[] constant(0)\n"
    "  w = f32[2,2] reduce-window(g, z), window={size=2x1 pad=1_0x0_0}, to_apply={ a = f32[] "
    "parameter(0) "
    "b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }\n  s = f32[1,2] slice(w), "
    "slice={[0:2:2], [0:2]}\n"
    "  l = s32[2,3]{0,1} constant({{1,2,3},{4,5,6}})\n  d = f32[2,2] dot(g, w), "
    "lhs_contracting_dims={1}, "
    "rhs_contracting_dims={0}, operand_precision={high,default}\n"
    "  q = f32[3,2] pad(w, z), padding=0_1x0_0\n  ROOT t = (f32[1,2], f32[3,2]) tuple(s, q)\n}\n",
    "HloModule c\nENTRY e {\n  x = f32[<=4,2]{1,0:T(8,128)S(1)} parameter(0), origin={{\"x\" "
    "{0}}}\n"
    "  st = ((f32[<=4,2]), f32[<=4,2], u32[]) custom-call-start(x), custom_call_target=\"t\", "
    "literal=s32[2]{0} {1, "
    "2}\n  i = f32[1,8,8,2] broadcast(f32[] constant(1)), dimensions={}\n  k = f32[3,3,2,4] "
    "broadcast(f32[] "
    "constant(1)), dimensions={}\n  v = f32[1,6,6,4] convolution(i, k), window={size=3x3}, "
    "dim_labels=b01f_01io->b01f\n"
    "  ROOT d = f32[<=4,2] custom-call-done(st), frontend_attributes={a=\"b\",c={d}}\n}\n",
};

/* A text as a proto of either form. */
static fuzz_bytes_t builtin_proto(int index) {
  const char *text = builtin[index / 2];
  hlo_module_t *module;
  hr_buffer_t *bytes;
  hr_status_t st = hlo_module_create(HR_STR("own"), &module);
  if (st) exit(2);
  module->source = (hr_source_t){"own", text, strlen(text)};
  st = read_hlo_text(module);
  if (!st) st = write_hlo_proto(module, index % 2 ? HLO_PROTO_HLO : HLO_PROTO_MODULE, &bytes);
  if (st) {
    hr_status_print(stderr, st);
    fuzz_fail("a text of its own cannot be written");
  }
  fuzz_bytes_t file = fuzz_copy(hr_buffer_data(bytes), hr_buffer_size(bytes));
  hr_buffer_release(bytes);
  hlo_module_destroy(module);
  return file;
}

int main(int argc, char **argv) {
  const fuzz_material_t material = {.own = builtin_proto,
                                    .own_count = 2 * sizeof builtin / sizeof *builtin,
                                    .mutate = proto_mutate};
  return fuzz_main(argc, argv, &material);
}

#endif
