/* A file of bytecode: the operations are written first, which numbers all strings, attributes,
 * types and blobs; then the tables. Equal items share a number: they are found by address, which
 * is cheap and finds most, then by their bytes. Sections are built in separate buffers and
 * concatenated; only then are large elements copied. */
#include "mlir/bytecode/bytecode_writer.h"

#include <string.h>

/* --- bytes --- */

void bytecode_put_byte(hr_strbuf_t *text, uint8_t byte) { hr_strbuf_add_char(text, (char)byte); }

/* 7 bits per byte; the trailing zeros of the first byte count the bytes that follow. */
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

/* The bits of a double as a signed var: the inverse of bytecode_take_f64. */
void bytecode_put_f64(hr_strbuf_t *text, double value) {
  int64_t bits;
  memcpy(&bits, &value, sizeof bits);
  bytecode_put_svar(text, bits);
}

/* ints := var count, signed var... */
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

/* The part of a name before the first '.' or '<'; the whole name if it has neither. */
hr_str_t bytecode_dialect_of(hr_str_t name) {
  size_t size = 0;
  while (size < name.size && name.data[size] != '.' && name.data[size] != '<') size++;
  return (hr_str_t){name.data, size};
}

/* Linear search, since files have few dialects. */
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
 * is rewound if the item exists. */
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
    bytecode_written_t item = {dialect, binary, {key.data + sizeof head, bytes->size}, {0}};
    HR_VEC_PUSH(&numbers->items, item);
    known = (void *)(uintptr_t)numbers->items.count;
    HR_TRY(hr_map_put(&numbers->by_bytes, key, known, NULL));
  }
  *out_number = (uint32_t)((uintptr_t)known - 1);
  return NULL;
}

/* Linear search, as items with elements are few because they are large. Each comparison stops at
 * the first byte that differs. */
hr_status_t bytecode_number_elements(bytecode_writer_t *writer, bytecode_numbers_t *numbers,
                                     uint32_t dialect, const hr_strbuf_t *bytes, hr_str_t elements,
                                     uint32_t *out_number) {
  HR_TRY(hr_strbuf_finish(bytes));
  bytecode_written_t item = {dialect, true, {bytes->data, bytes->size}, elements};
  for (size_t i = 0; i < numbers->items.count; i++) {
    const bytecode_written_t *other = &numbers->items.data[i];
    *out_number = (uint32_t)i;
    if (other->rest.size == elements.size && other->dialect == dialect &&
        hr_str_equal(other->bytes, item.bytes) && hr_str_equal(other->rest, elements))
      return NULL;
  }
  HR_TRY(hr_arena_str(&writer->arena, item.bytes, &item.bytes));
  *out_number = (uint32_t)numbers->items.count;
  HR_VEC_PUSH(&numbers->items, item);
  return NULL;
}

/* Key of an object by address; it may have two encodings, its dialect's and VHLO's. */
typedef struct address_key {
  const void *address;
  uint64_t in_vhlo;
} address_key_t;

/* Looks up an item by address. It may have two numbers, as VHLO and other dialects encode it
 * differently. The map holds number + 1, so that NULL means absent. */
bool bytecode_find_number(const bytecode_numbers_t *numbers, const void *address, bool in_vhlo,
                          uint32_t *out_number) {
  const address_key_t key = {address, in_vhlo};
  void *known = hr_map_get(&numbers->by_address, (hr_str_t){(const char *)&key, sizeof key});
  if (known) *out_number = (uint32_t)((uintptr_t)known - 1);
  return known != NULL;
}

/* Stores the number of an object by its address; the tree does not change while it is written. */
hr_status_t bytecode_cache_number(bytecode_writer_t *writer, bytecode_numbers_t *numbers,
                                  const void *address, bool in_vhlo, uint32_t number) {
  address_key_t *key;
  HR_TRY(HR_NEW(&writer->arena, &key));
  *key = (address_key_t){address, in_vhlo};
  return hr_map_put(&numbers->by_address, (hr_str_t){(const char *)key, sizeof *key},
                    (void *)((uintptr_t)number + 1), NULL);
}

/* --- sections --- */

/* Dialects with a flag each (no version follows), then names of ops grouped by dialect. */
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

static size_t size_of(const bytecode_written_t *item) { return item->bytes.size + item->rest.size; }

/* Runs of items of the same dialect, with the sizes of their bytes. */
static void put_offsets(const bytecode_numbers_t *numbers, hr_strbuf_t *offsets) {
  const bytecode_written_t *items = numbers->items.data;
  for (size_t i = 0, end; i < numbers->items.count; i = end) {
    for (end = i; end < numbers->items.count && items[end].dialect == items[i].dialect;) end++;
    bytecode_put_var(offsets, items[i].dialect);
    bytecode_put_var(offsets, end - i);
    for (size_t k = i; k < end; k++)
      bytecode_put_var(offsets, (uint64_t)size_of(&items[k]) << 1 | items[k].binary);
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

/* The IR is built first, as it fills all tables. The bytes of attributes and types remain in their
 * items. */
static hr_status_t build_sections(bytecode_writer_t *writer, hr_strbuf_t sections[SECTIONS]) {
  HR_TRY(bytecode_write_ir(writer, &sections[IR]));
  put_dialects(writer, &sections[DIALECTS]);
  bytecode_put_var(&sections[OFFSETS], writer->attrs.items.count);
  bytecode_put_var(&sections[OFFSETS], writer->types.items.count);
  put_offsets(&writer->attrs, &sections[OFFSETS]);
  put_offsets(&writer->types, &sections[OFFSETS]);
  put_strings(writer, &sections[STRINGS]);
  put_blobs(writer, &sections[BLOBS]);
  for (int i = 0; i < SECTIONS; i++) HR_TRY(hr_strbuf_finish(&sections[i]));
  return NULL;
}

static size_t size_of_items(const bytecode_numbers_t *numbers) {
  size_t size = 0;
  for (size_t i = 0; i < numbers->items.count; i++) size += size_of(&numbers->items.data[i]);
  return size;
}

static void copy(char **at, const char *bytes, size_t size) {
  if (size) memcpy(*at, bytes, size);
  *at += size;
}

static void copy_items(char **at, const bytecode_numbers_t *numbers) {
  for (size_t i = 0; i < numbers->items.count; i++) {
    const bytecode_written_t *item = &numbers->items.data[i];
    copy(at, item->bytes.data, item->bytes.size);
    copy(at, item->rest.data, item->rest.size);
  }
}

/* section := byte id, var length, bytes. The high bit of the id (an alignment follows) is never
 * set. Properties are a section since version 5. `file` holds the header; the head of each section
 * is appended to it, and `ends` gets its size after each. */
static size_t put_heads(const bytecode_writer_t *writer, const hr_strbuf_t sections[SECTIONS],
                        hr_strbuf_t *file, size_t ends[SECTIONS]) {
  static const bytecode_section_t ids[SECTIONS] = {BYTECODE_DIALECTS,   BYTECODE_ATTR_OFFSETS,
                                                   BYTECODE_ATTR_TYPES, BYTECODE_IR,
                                                   BYTECODE_STRINGS,    BYTECODE_PROPERTIES};
  size_t total = 0;
  for (int i = 0; i < SECTIONS; i++) {
    size_t size = sections[i].size;
    if (i == DATA) size = size_of_items(&writer->attrs) + size_of_items(&writer->types);
    if (i == BLOBS && writer->version < 5) size = 0;
    total += size;
    if (i != BLOBS || writer->version >= 5) {
      bytecode_put_byte(file, (uint8_t)ids[i]);
      bytecode_put_var(file, size);
    }
    ends[i] = file->size;
  }
  return total;
}

/* The file is assembled once, in its final buffer, as its elements may be most of the memory. */
static hr_status_t join_sections(const bytecode_writer_t *writer,
                                 const hr_strbuf_t sections[SECTIONS], hr_strbuf_t *file,
                                 hr_buffer_t **out_bytes) {
  size_t ends[SECTIONS], from = 0;
  size_t total = put_heads(writer, sections, file, ends);
  HR_TRY(hr_strbuf_finish(file));
  HR_TRY(hr_buffer_create(file->size + total, out_bytes));
  char *at = hr_buffer_data(*out_bytes);
  for (int i = 0; i < SECTIONS; i++) {
    copy(&at, file->data + from, ends[i] - from);
    from = ends[i];
    if (i == DATA) {
      copy_items(&at, &writer->attrs);
      copy_items(&at, &writer->types);
    } else if (i != BLOBS || writer->version >= 5) {
      copy(&at, sections[i].data, sections[i].size);
    }
  }
  return NULL;
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

/* Checks the version of VHLO and finds the bytecode version for it. */
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

/* Items and both maps; texts of the items live in the writer's arena. */
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

hr_status_t mlir_write_bytecode(const mlir_module_t *module, const mlir_write_options_t *options,
                                hr_buffer_t **out_bytes) {
  bytecode_writer_t writer = {.module = module};
  hr_strbuf_t file, sections[SECTIONS];
  int64_t version[3];
  HR_TRY(choose_version(options, &writer, version));
  hr_strbuf_init(&file);
  for (int i = 0; i < SECTIONS; i++) hr_strbuf_init(&sections[i]);
  put_header(&writer, options, version, &file);
  hr_status_t st = build_sections(&writer, sections);
  if (!st) st = join_sections(&writer, sections, &file, out_bytes);
  for (int i = 0; i < SECTIONS; i++) hr_strbuf_deinit(&sections[i]);
  hr_strbuf_deinit(&file);
  free_writer(&writer);
  return st;
}
