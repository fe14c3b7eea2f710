/* Whatever bytes are read: no crash, no leak, memory in proportion to them; and what is accepted is
 * written as a proto that reads back and prints the same. With -DHR_FUZZING -fsanitize=fuzzer it is
 * a target of libFuzzer; else a program, see fuzz_driver.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz_driver.h"
#include "ir/print.h"
#include "ops/rules/verify.h"
#include "proto/hlo_proto.h"
#include "proto/proto_wire.h"
#include "read/read.h"

static void fail(const char *what) {
  fprintf(stderr, "fuzz_hlo_proto: %s\n", what);
  abort();
}

/* The bytes must outlive the module. */
static hr_status_t read_bytes(const void *data, size_t size, hlo_module_t **out_module) {
  hlo_module_t *module;
  HR_TRY(hlo_module_create(HR_STR("fuzz"), &module));
  module->source = (hr_source_t){"fuzz", data, size};
  hr_status_t st = read_hlo_proto(module);
  if (module->arena.total_bytes > (64u << 20) + 512 * size) fail("memory out of proportion");
  if (st)
    hlo_module_destroy(module);
  else
    *out_module = module;
  return st;
}

/* Errors must be of the program, and be printable. */
static void drop_status(hr_status_t st) {
  if (hr_status_code(st) == HR_INTERNAL) fail("internal error");
  free(hr_status_format(st));
  hr_status_release(st);
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
    fail("what was written does not read back");
  }
  hlo_print_module(&second, again, HLO_PRINT_LONG);
  if (first.size != second.size || memcmp(first.data, second.data, first.size) != 0) {
    fprintf(stderr, "%s\n%s\n", first.data, second.data);
    fail("what was written reads back different");
  }
  hlo_module_destroy(again);
  hr_buffer_release(bytes);
  hr_strbuf_deinit(&first);
  hr_strbuf_deinit(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hlo_opcode_t op;
  hlo_op_from_name(HR_STR("add"), &op); /* fills a table that stays */
  size_t live = hr_mem_live_blocks();
  hlo_module_t *module = NULL;
  hlo_proto_is((hr_str_t){(const char *)data, size});
  hr_status_t st = read_bytes(data, size, &module);
  if (!st) st = hlo_verify(module);
  if (!st) check_write(module, size % 2 ? HLO_PROTO_MODULE : HLO_PROTO_HLO);
  if (st) drop_status(st);
  hlo_module_destroy(module);
  if (hr_mem_live_blocks() != live) fail("leak");
  return 0;
}

#ifndef HR_FUZZING

/* Changes that keep messages messages: a field is chosen at random, at a random depth, and the
 * lengths around it follow. Without that nearly every change would be no more than a wrong length.
 * --------------- */

typedef struct wire_field {
  const char *from, *content, *end; /* its tag, what is behind tag and length, and where it ends */
  uint32_t tag;
} wire_field_t;

static bool take_field(const char **at, const char *end, wire_field_t *out_field) {
  uint64_t tag, size = 0;
  out_field->from = *at;
  if (!proto_take_varint(at, end, &tag)) return false;
  out_field->tag = (uint32_t)tag;
  out_field->content = *at;
  switch (tag & 7) {
    case 0:
      if (!proto_take_varint(at, end, &size)) return false;
      size = 0;
      break;
    case 1:
      size = 8;
      break;
    case 5:
      size = 4;
      break;
    case 2:
      if (!proto_take_varint(at, end, &size)) return false;
      out_field->content = *at;
      break;
    default:
      return false;
  }
  if (size > (size_t)(end - *at)) return false;
  *at += size;
  out_field->end = *at;
  return true;
}

/* How many fields; 0 if the bytes are no message. */
static uint64_t count_fields(const char *at, const char *end) {
  uint64_t count = 0;
  wire_field_t field;
  for (; at < end; count++)
    if (!take_field(&at, end, &field)) return 0;
  return count;
}

static wire_field_t pick_field(const char *at, const char *end, uint64_t count) {
  wire_field_t field;
  for (uint64_t skip = fuzz_random_below(count) + 1; skip; skip--) take_field(&at, end, &field);
  return field;
}

static void put_number(hr_strbuf_t *out, uint64_t old) {
  static const uint64_t numbers[] = {0,   1,        2,         3,         7,          127,
                                     128, 1u << 20, INT32_MAX, INT64_MAX, 1ull << 63, UINT64_MAX};
  uint64_t choice = fuzz_random_below(3);
  uint64_t near = old + fuzz_random_below(5) - 2;
  proto_put_varint(out,
                   choice ? near : numbers[fuzz_random_below(sizeof numbers / sizeof *numbers)]);
}

static void put_changed_bytes(hr_strbuf_t *out, hr_str_t bytes) {
  size_t at = fuzz_random_below(bytes.size + 1), gone = fuzz_random_below(3);
  if (gone > bytes.size - at) gone = bytes.size - at;
  hr_strbuf_add(out, bytes.data, at);
  for (uint64_t more = fuzz_random_below(3); more; more--)
    hr_strbuf_add_char(out, (char)fuzz_random_below(256));
  hr_strbuf_add(out, bytes.data + at + gone, bytes.size - at - gone);
}

static void put_changed(hr_strbuf_t *out, const char *from, const char *end, int depth);

/* One field, changed: the number, the bytes, or something inside. */
static void put_changed_field(hr_strbuf_t *out, const wire_field_t *field, int depth) {
  hr_str_t content = {field->content, (size_t)(field->end - field->content)};
  uint64_t old = 0;
  const char *at = field->content;
  if ((field->tag & 7) == 0) {
    proto_take_varint(&at, field->end, &old);
    proto_put_varint(out, field->tag);
    put_number(out, old);
    return;
  }
  if ((field->tag & 7) != 2) {
    proto_put_varint(out, field->tag);
    for (size_t i = 0; i < content.size; i++) hr_strbuf_add_char(out, (char)fuzz_random_below(256));
    return;
  }
  size_t opened = proto_open(out, field->tag >> 3);
  bool inside = depth < 12 && count_fields(content.data, field->end) > 0 && fuzz_random_below(8);
  if (inside)
    put_changed(out, content.data, field->end, depth + 1);
  else
    put_changed_bytes(out, content);
  proto_close(out, opened);
}

/* A message in which one field is changed, lost, doubled, or replaced by a copy of a neighbour
 * under its own number. */
static void put_changed(hr_strbuf_t *out, const char *from, const char *end, int depth) {
  uint64_t count = count_fields(from, end);
  if (!count) {
    hr_strbuf_add(out, from, (size_t)(end - from));
    return;
  }
  wire_field_t field = pick_field(from, end, count), other = pick_field(from, end, count);
  hr_strbuf_add(out, from, (size_t)(field.from - from));
  switch (fuzz_random_below(10)) {
    case 0:
      break;
    case 1:
      hr_strbuf_add(out, field.from, (size_t)(field.end - field.from));
      hr_strbuf_add(out, other.from, (size_t)(other.end - other.from));
      break;
    case 2:
      hr_strbuf_add(out, other.from, (size_t)(other.end - other.from));
      break;
    case 3: /* another number */
      proto_put_varint(out, (field.tag & 7) | (uint32_t)(1 + fuzz_random_below(99)) << 3);
      if ((field.tag & 7) == 2) proto_put_varint(out, (uint64_t)(field.end - field.content));
      hr_strbuf_add(out, field.content, (size_t)(field.end - field.content));
      break;
    default:
      put_changed_field(out, &field, depth);
      break;
  }
  hr_strbuf_add(out, field.end, (size_t)(end - field.end));
}

/* Also broken in ways that no message is: cut short, or a bit turned. */
static void mutate(fuzz_bytes_t *bytes, const fuzz_bytes_t *other) {
  (void)other;
  hr_strbuf_t next;
  hr_strbuf_init(&next);
  put_changed(&next, bytes->data, bytes->data + bytes->size, 0);
  if (next.size <= FUZZ_BYTES_MAX) {
    if (next.size) memcpy(bytes->data, next.data, next.size);
    bytes->size = next.size;
  }
  hr_strbuf_deinit(&next);
  if (!fuzz_random_below(20) && bytes->size)
    bytes->data[fuzz_random_below(bytes->size)] ^= (char)(1 << fuzz_random_below(8));
  if (!fuzz_random_below(40)) bytes->size = fuzz_random_below(bytes->size + 1);
}

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
    fail("a text of its own cannot be written");
  }
  fuzz_bytes_t file = fuzz_copy(hr_buffer_data(bytes), hr_buffer_size(bytes));
  hr_buffer_release(bytes);
  hlo_module_destroy(module);
  return file;
}

int main(int argc, char **argv) {
  const fuzz_material_t material = {
      .own = builtin_proto, .own_count = 2 * sizeof builtin / sizeof *builtin, .mutate = mutate};
  return fuzz_main(argc, argv, &material);
}

#endif
