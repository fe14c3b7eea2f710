/* Custom calls of XLA's typed convention whose attributes are whatever bytes: a handler that reads
 * all that its call frame names (buffers, sizes, attributes of every kind, nested ones) is called
 * in all of its stages, or the call is refused with a status; nothing is read or written beyond
 * what was given to the handler. The first byte of an input chooses element types, the second what
 * the handler itself does; the others are the attributes. With -DHR_FUZZING -fsanitize=fuzzer it is
 * a target of libFuzzer; else a program, see fuzz_driver.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/text.h"
#include "fuzz_client.h"
#include "fuzz_driver.h"
#include "hlorun.h"
#include "ops/kernels/custom/ffi_abi.h"
#include "ops/query/custom_ffi.h"

#define REFUSAL 3 /* the code of an invalid argument */
#define MOST_ATTRIBUTES ((size_t)1 << 16)

static unsigned sum;  /* sum of all bytes that handlers saw, so that they are read */
static int behaviour; /* what the handler does in this input */

/* --- the handler --- */

static void read_bytes(const void *data, size_t size) {
  for (size_t i = 0; i < size; i++) sum += ((const unsigned char *)data)[i];
}

/* Bytes of an element by its number in protos; elements of less than a byte are packed. */
static size_t size_of(int proto, size_t count) {
  for (int t = 0; t < HR_DTYPE_COUNT; t++)
    if (hr_dtype_table[t].proto == proto && hr_dtype_is_array((hr_dtype_t)t))
      return t == HR_PRED ? count : (count * (size_t)hr_dtype_table[t].bits + 7) / 8;
  return 0;
}

/* Results are written, too. */
static void use_buffers(const ffi_buffers_t *list, bool writes) {
  for (int64_t k = 0; k < list->count; k++) {
    const ffi_buffer_t *buffer = list->buffers[k];
    size_t count = 1;
    if (list->types[k] != FFI_BUFFER) fuzz_fail("an argument that is no buffer");
    for (int64_t d = 0; d < buffer->rank; d++) count *= (size_t)buffer->dims[d];
    size_t size = size_of(buffer->dtype, count);
    if (writes && size) memset(buffer->data, behaviour, size);
    read_bytes(buffer->data, size);
  }
}

static void use_attrs(const ffi_attrs_t *attrs);

static void use_attr(int type, const void *value) {
  const ffi_scalar_t *scalar = value;
  const ffi_array_t *array = value;
  const ffi_text_t *text = value;
  switch (type) {
    case FFI_ATTR_SCALAR:
      if (size_of(scalar->dtype, 1) > sizeof(uint64_t))
        fuzz_fail("a scalar of more bytes than it has");
      read_bytes(scalar->value, size_of(scalar->dtype, 1));
      break;
    case FFI_ATTR_ARRAY:
      read_bytes(array->data, size_of(array->dtype, array->count));
      break;
    case FFI_ATTR_STRING:
      read_bytes(text->data, text->size);
      break;
    case FFI_ATTR_DICTIONARY:
      use_attrs(value);
      break;
    default:
      fuzz_fail("an attribute of no known kind");
  }
}

static void use_attrs(const ffi_attrs_t *attrs) {
  for (int64_t i = 0; i < attrs->count; i++) {
    read_bytes(attrs->names[i]->data, attrs->names[i]->size);
    use_attr(attrs->types[i], attrs->values[i]);
  }
}

static ffi_error_t *refuse(const ffi_frame_t *frame) {
  ffi_error_create_args_t args = {sizeof args, NULL, "refused by the handler", REFUSAL};
  return frame->api->error_create(&args);
}

/* A handler may fail in any stage. */
static ffi_error_t *probe(ffi_frame_t *frame) {
  use_buffers(&frame->args, false);
  use_buffers(&frame->rets, true);
  use_attrs(&frame->attrs);
  return behaviour % 16 == frame->stage ? refuse(frame) : NULL;
}

/* --- programs --- */

/* As an escaped text between quotes. */
static void add_quoted(hr_strbuf_t *out, const uint8_t *data, size_t size) {
  for (size_t i = 0; i < size; i++) {
    bool is_plain = data[i] >= ' ' && data[i] < 127 && data[i] != '"' && data[i] != '\\';
    if (is_plain)
      hr_strbuf_add_char(out, (char)data[i]);
    else
      hr_strbuf_printf(out, "\\%02X", data[i]);
  }
}

/* The attributes stand as they are, or as a text that is read as a dictionary later. */
static void write_program(hr_strbuf_t *out, int choice, const uint8_t *data, size_t size) {
  static const char *const types[] = {"f32",  "i4",  "i1",  "complex<f64>",
                                      "bf16", "ui8", "i64", "f8E5M2"};
  const char *type = types[choice % 8], *dims = choice & 64 ? "0x3x" : "2x3x";
  hr_strbuf_printf(out, "func.func @main(%%a: tensor<%s%s>) -> tensor<%s%s> {\n", dims, type, dims,
                   type);
  hr_strbuf_printf(out, "  %%0 = stablehlo.custom_call @probe(%%a) {api_version = 4 : i32, ");
  hr_strbuf_printf(out, "backend_config = ");
  if (choice & 128) {
    hr_strbuf_add_char(out, '"');
    add_quoted(out, data, size);
    hr_strbuf_add_char(out, '"');
  } else {
    hr_strbuf_add(out, (const char *)data, size);
  }
  hr_strbuf_printf(out, "} : (tensor<%s%s>) -> tensor<%s%s>\n", dims, type, dims, type);
  hr_strbuf_printf(out, "  return %%0 : tensor<%s%s>\n}\n", dims, type);
}

static hlorun_client_t *probe_client(void) {
  static const custom_ffi_bundle_t bundle = {probe, probe, probe, probe, false};
  hlorun_client_t *client = fuzz_client(HLORUN_ENGINE_COMPILED);
  if (!fuzz_is_fine(custom_ffi_register(HR_STR("probe"), &bundle)))
    fuzz_fail("the handler is not taken");
  return client;
}

/* Other bytes may have made other parameters; those are not run. */
static void execute(hlorun_client_t *client, hlorun_program_t *program) {
  static uint64_t data[64];
  static const char *const names[] = {"f32", "s4", "pred", "c128", "bf16", "u8", "s64", "f8e5m2"};
  const char *shape = hlorun_program_param_shape(program, 0);
  hlorun_buffer_t *argument = NULL, *result = NULL;
  const char *open = shape ? strchr(shape, '[') : NULL;
  int64_t dims[] = {open && open[1] == '0' ? 0 : 2, 3};
  if (hlorun_program_param_count(program) != 1 || hlorun_program_result_count(program) != 1) return;
  for (size_t i = 0; i < 8 && open; i++) {
    size_t size = strlen(names[i]);
    if ((size_t)(open - shape) != size || strncmp(shape, names[i], size)) continue;
    if (!fuzz_is_fine(hlorun_buffer_create(names[i], 2, dims, data, NULL, NULL, &argument))) return;
    if (fuzz_is_fine(hlorun_execute(program, &argument, NULL, &result)))
      hlorun_buffer_release(result);
    hlorun_buffer_release(argument);
    return;
  }
  (void)client;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static hlorun_client_t *client;
  hlorun_program_t *program = NULL;
  hlorun_program_options_t options;
  hr_strbuf_t text;
  if (!client) client = probe_client();
  if (size < 2 || size > MOST_ATTRIBUTES) return 0;
  hlorun_program_options_init(&options);
  hr_strbuf_init(&text);
  behaviour = data[1];
  write_program(&text, data[0], data + 2, size - 2);
  if (fuzz_is_fine(
          hlorun_program_load_bytes(client, "fuzz", text.data, text.size, &options, &program)))
    execute(client, program);
  hlorun_program_release(program);
  hr_strbuf_deinit(&text);
  return 0;
}

#ifndef HR_FUZZING

static const char *const words[] = {" : i64",
                                    " : f32",
                                    " : complex<f64>",
                                    " : ui8",
                                    " : i4",
                                    " : f8E4M3FN",
                                    "dense<[1,2]> : tensor<2xi32>",
                                    "array<i64: 1, 2>",
                                    "array<i1: true>",
                                    "{a = 1 : i32}",
                                    "\"text\"",
                                    "true",
                                    "unit",
                                    "[",
                                    "]",
                                    "[[1],[2]]",
                                    "-1",
                                    "9223372036854775807",
                                    "1e400",
                                    "0x7FF8000000000000",
                                    ", b = ",
                                    "= ",
                                    "#x<1>",
                                    "@s",
                                    "f32",
                                    "\\00",
                                    "dense<1.5> : tensor<1000000x1000000xf64>",
                                    "[1, \"a\", 2.0]",
                                    "\"\"",
                                    "{}"};

static const char *const builtin[] = {
    "\0\x0f{a = 1 : i32, b = 2.5 : f32, c = \"text\", d = true}",
    "\1\x0f{list = [1, 2, 3], floats = array<f64: 1.0, 2.0>, none = []}",
    "\2\x0f{outer = {inner = {x = 1 : ui8, y = \"z\"}}, e = {}}",
    "\3\x0f{d = dense<[1, 2]> : tensor<2xi16>, s = dense<1.0> : tensor<bf16>}",
    "\4\x01{a = 1 : i64}",
    "\xc0\x0f{uplo = 76 : ui8, name = \\22x\\22}",
    "\x85\x0f{mode = 65 : ui8}",
    "\x86\x0f{c = 1 : complex<f64>, t = [1 : i8, 2 : i8]}",
};

static fuzz_bytes_t builtin_attributes(int index) {
  const char *text = builtin[index];
  fuzz_bytes_t bytes = fuzz_copy(text, 2 + strlen(text + 2));
  return bytes;
}

int main(int argc, char **argv) {
  const fuzz_material_t material = {.own = builtin_attributes,
                                    .own_count = sizeof builtin / sizeof *builtin,
                                    .words = words,
                                    .word_count = sizeof words / sizeof *words};
  return fuzz_main(argc, argv, &material);
}

#endif
