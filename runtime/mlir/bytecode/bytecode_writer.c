/* A file of bytecode: the operations are written first, which numbers all the strings, attributes,
 * types and blobs that they need, then the tables around them. Equal things get one number: they
 * are found by their address, which is cheap and catches most, and then by their bytes. Sections
 * are built in buffers of their own and concatenated. */
#include "mlir/bytecode/bytecode_writer.h"

#include <string.h>

/* --- bytes --- */

void bytecode_put_byte(hr_strbuf_t *text, uint8_t byte) { hr_strbuf_add_char(text, (char)byte); }

/* 7 bits a byte; the zeros below the lowest one of the first byte count the bytes that follow. */
void bytecode_put_var(hr_strbuf_t *text, uint64_t value) {
  int size = 1;
  while (size < 9 && value >> (7 * size)) size++;
  if (size == 9) {
    bytecode_put_byte(text, 0);
    hr_strbuf_add(text, (const char *)&value, 8);
    return;
  }
  uint64_t bits = (value << 1 | 1) << (size - 1);
  hr_strbuf_add(text, (const char *)&bits, (size_t)size);
}

/* Zigzag, as bytecode_take_svar reads it. */
void bytecode_put_svar(hr_strbuf_t *text, int64_t value) {
  bytecode_put_var(text, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

void bytecode_put_f64(hr_strbuf_t *text, double value) {
  int64_t bits;
  memcpy(&bits, &value, sizeof bits);
  bytecode_put_svar(text, bits);
}

void bytecode_put_ints(hr_strbuf_t *text, int64_t count, const int64_t *values) {
  bytecode_put_var(text, (uint64_t)count);
  for (int64_t i = 0; i < count; i++) bytecode_put_svar(text, values[i]);
}

/* --- numbers --- */

/* Equal strings share a number. */
hr_status_t bytecode_number_string(bytecode_writer_t *writer, hr_str_t string,
                                   uint32_t *out_number) {
  if (!string.size) string.data = ""; /* keys are never NULL */
  void *known = hr_map_get(&writer->string_numbers, string);
  hr_str_t copy;
  if (!known) {
    HR_TRY(hr_arena_str(&writer->arena, string, &copy));
    HR_VEC_PUSH(&writer->strings, copy);
    known = (void *)(uintptr_t)writer->strings.count;
    HR_TRY(hr_map_put(&writer->string_numbers, copy, known, NULL));
  }
  *out_number = (uint32_t)((uintptr_t)known - 1);
  return NULL;
}

hr_str_t bytecode_dialect_of(hr_str_t name) {
  size_t size = 0;
  while (size < name.size && name.data[size] != '.' && name.data[size] != '<') size++;
  return (hr_str_t){name.data, size};
}

/* Files have few dialects: a linear search. */
hr_status_t bytecode_number_dialect(bytecode_writer_t *writer, hr_str_t name,
                                    uint32_t *out_number) {
  uint32_t string;
  HR_TRY(bytecode_number_string(writer, name, &string));
  for (size_t i = 0; i < writer->dialects.count; i++) {
    if (writer->dialects.data[i] != string) continue;
    *out_number = (uint32_t)i;
    return NULL;
  }
  *out_number = (uint32_t)writer->dialects.count;
  HR_VEC_PUSH(&writer->dialects, string);
  return NULL;
}

/* The key is the dialect, the form (binary or text) and the bytes. It is built in the arena, which
 * is rewound if the bytes are known. */
hr_status_t bytecode_number_bytes(bytecode_writer_t *writer, bytecode_numbers_t *numbers,
                                  uint32_t dialect, bool binary, const hr_strbuf_t *bytes,
                                  uint32_t *out_number) {
  HR_TRY(hr_strbuf_finish(bytes));
  hr_arena_mark_t mark = hr_arena_mark(&writer->arena);
  const uint32_t head = dialect << 1 | binary;
  void *memory;
  HR_TRY(hr_arena_alloc(&writer->arena, sizeof head + bytes->size, &memory));
  memcpy(memory, &head, sizeof head);
  if (bytes->size) memcpy((char *)memory + sizeof head, bytes->data, bytes->size);
  hr_str_t key = {memory, sizeof head + bytes->size};
  void *known = hr_map_get(&numbers->by_bytes, key);
  if (known) {
    hr_arena_rewind(&writer->arena, mark);
  } else {
    bytecode_written_t item = {dialect, binary, {key.data + sizeof head, bytes->size}};
    HR_VEC_PUSH(&numbers->items, item);
    known = (void *)(uintptr_t)numbers->items.count;
    HR_TRY(hr_map_put(&numbers->by_bytes, key, known, NULL));
  }
  *out_number = (uint32_t)((uintptr_t)known - 1);
  return NULL;
}

/* An object may have two encodings, its dialect's and VHLO's. */
typedef struct address_key {
  const void *address;
  uint64_t in_vhlo;
} address_key_t;

bool bytecode_find_number(const bytecode_numbers_t *numbers, const void *address, bool in_vhlo,
                          uint32_t *out_number) {
  const address_key_t key = {address, in_vhlo};
  void *known = hr_map_get(&numbers->by_address, (hr_str_t){(const char *)&key, sizeof key});
  if (known) *out_number = (uint32_t)((uintptr_t)known - 1);
  return known != NULL;
}

/* Remembers the number of an object by its address; the tree does not change while it is
 * written. */
hr_status_t bytecode_cache_number(bytecode_writer_t *writer, bytecode_numbers_t *numbers,
                                  const void *address, bool in_vhlo, uint32_t number) {
  address_key_t *key;
  HR_TRY(HR_NEW(&writer->arena, &key));
  *key = (address_key_t){address, in_vhlo};
  return hr_map_put(&numbers->by_address, (hr_str_t){(const char *)key, sizeof *key},
                    (void *)((uintptr_t)number + 1), NULL);
}

/* --- sections --- */

static void put_section(hr_strbuf_t *file, bytecode_section_t id, const hr_strbuf_t *section) {
  bytecode_put_byte(file, (uint8_t)id);
  bytecode_put_var(file, section->size);
  hr_strbuf_add(file, section->data ? section->data : "", section->size);
}

/* Dialects with a flag each (no version follows), then names of ops in groups of one dialect. */
static void put_dialects(const bytecode_writer_t *writer, hr_strbuf_t *text) {
  bytecode_put_var(text, writer->dialects.count);
  for (size_t i = 0; i < writer->dialects.count; i++)
    bytecode_put_var(text, writer->version >= 1 ? (uint64_t)writer->dialects.data[i] << 1
                                                : writer->dialects.data[i]);
  if (writer->version >= 4) bytecode_put_var(text, writer->op_names.count);
  for (size_t i = 0, end; i < writer->op_names.count; i = end) {
    const bytecode_name_t *names = writer->op_names.data;
    for (end = i; end < writer->op_names.count && names[end].dialect == names[i].dialect;) end++;
    bytecode_put_var(text, names[i].dialect);
    bytecode_put_var(text, end - i);
    for (size_t k = i; k < end; k++)
      bytecode_put_var(text, writer->version >= 5
                                 ? (uint64_t)names[k].string << 1 | names[k].registered
                                 : names[k].string);
  }
}

/* Groups of neighbours of one dialect: sizes go into `offsets`, the bytes into `data`. */
static void put_table(const bytecode_numbers_t *numbers, hr_strbuf_t *offsets, hr_strbuf_t *data) {
  const bytecode_written_t *items = numbers->items.data;
  for (size_t i = 0, end; i < numbers->items.count; i = end) {
    for (end = i; end < numbers->items.count && items[end].dialect == items[i].dialect;) end++;
    bytecode_put_var(offsets, items[i].dialect);
    bytecode_put_var(offsets, end - i);
    for (size_t k = i; k < end; k++) {
      bytecode_put_var(offsets, (uint64_t)items[k].bytes.size << 1 | items[k].binary);
      hr_strbuf_add(data, items[k].bytes.data, items[k].bytes.size);
    }
  }
}

/* Sizes from the last string to the first, then the strings with their NULs. */
static void put_strings(const bytecode_writer_t *writer, hr_strbuf_t *text) {
  bytecode_put_var(text, writer->strings.count);
  for (size_t i = writer->strings.count; i-- > 0;)
    bytecode_put_var(text, writer->strings.data[i].size + 1);
  for (size_t i = 0; i < writer->strings.count; i++)
    hr_strbuf_add(text, writer->strings.data[i].data, writer->strings.data[i].size + 1);
}

/* Property blobs with their sizes. */
static void put_blobs(const bytecode_writer_t *writer, hr_strbuf_t *text) {
  bytecode_put_var(text, writer->blobs.items.count);
  for (size_t i = 0; i < writer->blobs.items.count; i++) {
    hr_str_t bytes = writer->blobs.items.data[i].bytes;
    bytecode_put_var(text, bytes.size);
    hr_strbuf_add(text, bytes.data, bytes.size);
  }
}

/* Readers take the version of VHLO from the producer's name. */
static void put_header(const bytecode_writer_t *writer, const mlir_write_options_t *options,
                       const int64_t version[3], hr_strbuf_t *file) {
  hr_strbuf_add(file, "ML\xefR", 4);
  bytecode_put_var(file, (uint64_t)writer->version);
  if (writer->vhlo)
    hr_strbuf_printf(file, "StableHLO_v%ld.%ld.%ld", (long)version[0], (long)version[1],
                     (long)version[2]);
  else
    hr_strbuf_add_str(file, options->producer ? options->producer : "MLIR");
  hr_strbuf_add_char(file, 0);
}

enum { DIALECTS, OFFSETS, DATA, IR, STRINGS, BLOBS, SECTIONS };

/* The IR first, as it fills all tables. Properties are a section since version 5. */
static hr_status_t write_sections(bytecode_writer_t *writer, hr_strbuf_t sections[SECTIONS],
                                  hr_strbuf_t *file) {
  static const bytecode_section_t ids[SECTIONS] = {BYTECODE_DIALECTS,   BYTECODE_ATTR_OFFSETS,
                                                   BYTECODE_ATTR_TYPES, BYTECODE_IR,
                                                   BYTECODE_STRINGS,    BYTECODE_PROPERTIES};
  HR_TRY(bytecode_write_ir(writer, &sections[IR]));
  put_dialects(writer, &sections[DIALECTS]);
  bytecode_put_var(&sections[OFFSETS], writer->attrs.items.count);
  bytecode_put_var(&sections[OFFSETS], writer->types.items.count);
  put_table(&writer->attrs, &sections[OFFSETS], &sections[DATA]);
  put_table(&writer->types, &sections[OFFSETS], &sections[DATA]);
  put_strings(writer, &sections[STRINGS]);
  put_blobs(writer, &sections[BLOBS]);
  for (int i = 0; i < SECTIONS; i++) {
    HR_TRY(hr_strbuf_finish(&sections[i]));
    if (i != BLOBS || writer->version >= 5) put_section(file, ids[i], &sections[i]);
  }
  return hr_strbuf_finish(file);
}

/* Version of the bytecode for a version of VHLO; the newest for plain modules (0). */
static int bytecode_version_of(int vhlo) {
  int version = BYTECODE_VERSION;
#define VHLO_BYTECODE(since, bytecode) \
  if (vhlo >= (since)) version = bytecode;
#include "mlir/vhlo/vhlo.def"
#undef VHLO_BYTECODE
  return version;
}

/* Checks the version of VHLO, and finds that of the bytecode. */
static hr_status_t choose_version(const mlir_write_options_t *options, bytecode_writer_t *writer,
                                  int64_t out_version[3]) {
  static const int64_t newest[3] = {VHLO_NEWEST / 100, VHLO_NEWEST % 100, 0};
  memcpy(out_version, options->version, sizeof newest);
  if (!out_version[0] && !out_version[1] && !out_version[2])
    memcpy(out_version, newest, sizeof newest);
  int64_t major = out_version[0];
  int64_t minor = out_version[1];
  bool exists = vhlo_is_version(major, minor);
  if (options->portable && (!exists || out_version[2] < 0))
    return hr_error(HR_INVALID,
                    "version %ld.%ld.%ld of VHLO, want 0.%d.0 to 0.%d.0 or 1.0.0 to %d.%d.0",
                    (long)major, (long)minor, (long)out_version[2], VHLO_OLDEST, VHLO_LAST_0,
                    VHLO_NEWEST / 100, VHLO_NEWEST % 100);
  writer->vhlo = options->portable ? (int)(100 * major + minor) : 0;
  writer->version = bytecode_version_of(writer->vhlo);
  return NULL;
}

static void free_numbers(bytecode_numbers_t *numbers) {
  HR_VEC_FREE(&numbers->items);
  hr_map_deinit(&numbers->by_bytes);
  hr_map_deinit(&numbers->by_address);
}

/* Frees maps and lists; what they point to is in the arena. */
static void free_writer(bytecode_writer_t *writer) {
  HR_VEC_FREE(&writer->strings);
  HR_VEC_FREE(&writer->dialects);
  HR_VEC_FREE(&writer->op_names);
  hr_map_deinit(&writer->string_numbers);
  hr_map_deinit(&writer->op_numbers);
  free_numbers(&writer->attrs);
  free_numbers(&writer->types);
  free_numbers(&writer->blobs);
  hr_arena_deinit(&writer->arena);
}

/* Sections are built in buffers of their own and concatenated. */
hr_status_t mlir_write_bytecode(const mlir_module_t *module, const mlir_write_options_t *options,
                                hr_buffer_t **out_bytes) {
  bytecode_writer_t writer = {.module = module};
  hr_strbuf_t file, sections[SECTIONS];
  int64_t version[3];
  hr_buffer_t *bytes = NULL;
  HR_TRY(choose_version(options, &writer, version));
  hr_strbuf_init(&file);
  for (int i = 0; i < SECTIONS; i++) hr_strbuf_init(&sections[i]);
  put_header(&writer, options, version, &file);
  hr_status_t st = write_sections(&writer, sections, &file);
  if (!st) st = hr_buffer_create(file.size, &bytes);
  if (!st) {
    memcpy(hr_buffer_data(bytes), file.data, file.size);
    *out_bytes = bytes;
  }
  for (int i = 0; i < SECTIONS; i++) hr_strbuf_deinit(&sections[i]);
  hr_strbuf_deinit(&file);
  free_writer(&writer);
  return st;
}
