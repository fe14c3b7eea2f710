/* The header is JSON of a fixed form: objects of "dtype", "shape" and "data_offsets" by name, and
 * "__metadata__", an object of strings, which is skipped. Arrays may not overlap the header or
 * leave the file; holes and overlaps between them do no harm to a reader and are not looked for.
 * Escapes in names are resolved as far as they stand for one byte. */
#include "io/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

#define LENGTH_BYTES 8
#define HEADER_MAX ((uint64_t)100 << 20)

typedef struct safetensor {
  hr_str_t name;
  npy_t npy; /* without its buffer */
} safetensor_t;

static const struct {
  const char *name;
  hr_dtype_t dtype;
} types[] = {
    {"F64", HR_F64},          {"F32", HR_F32}, {"F16", HR_F16},          {"BF16", HR_BF16},
    {"I64", HR_S64},          {"I32", HR_S32}, {"I16", HR_S16},          {"I8", HR_S8},
    {"U64", HR_U64},          {"U32", HR_U32}, {"U16", HR_U16},          {"U8", HR_U8},
    {"BOOL", HR_PRED},        {"C64", HR_C64}, {"F8_E4M3", HR_F8E4M3FN}, {"F8_E5M2", HR_F8E5M2},
    {"F8_E8M0", HR_F8E8M0FNU}};
#define TYPE_COUNT (sizeof types / sizeof *types)

/* The table is short: a loop will do. */
static const char *format_name(hr_dtype_t dtype) {
  for (size_t i = 0; i < TYPE_COUNT; i++)
    if (types[i].dtype == dtype) return types[i].name;
  return NULL;
}

/* Types of later versions are refused by name. */
static bool find_type(hr_str_t name, hr_dtype_t *out_dtype) {
  for (size_t i = 0; i < TYPE_COUNT; i++)
    if (hr_str_is(name, types[i].name)) {
      *out_dtype = types[i].dtype;
      return true;
    }
  return false;
}

/* Little-endian, whatever the machine. */
static uint64_t read_length(const char *bytes) {
  uint64_t length = 0;
  for (int i = LENGTH_BYTES - 1; i >= 0; i--) length = length << 8 | (unsigned char)bytes[i];
  return length;
}

/* A text's first eight bytes would be a length that no file has. */
bool safetensors_is(hr_str_t bytes) {
  if (bytes.size < LENGTH_BYTES + 2 || bytes.data[LENGTH_BYTES] != '{') return false;
  uint64_t length = read_length(bytes.data);
  return length >= 2 && length <= HEADER_MAX && length <= bytes.size - LENGTH_BYTES;
}

/* --- JSON --- */

typedef struct json {
  const char *at, *end;
  safetensors_t *file;
} json_t;

/* Offsets are from the end of the header, which is where readers stop. */
static hr_status_t damaged(const json_t *json, const char *want) {
  return hr_error(HR_INVALID, "%s: its header is damaged %zu bytes from its end, want %s",
                  json->file->path, (size_t)(json->end - json->at), want);
}

/* Blanks are allowed between all tokens. */
static void skip_space(json_t *json) {
  while (json->at < json->end && *json->at && strchr(" \t\r\n", *json->at)) json->at++;
}

/* Skips blanks, and takes the character if it is there. */
static bool accept(json_t *json, char wanted) {
  skip_space(json);
  if (json->at == json->end || *json->at != wanted) return false;
  json->at++;
  return true;
}

/* What a backslash and `c` stand for, as far as it is one byte. */
static char unescape(char c) {
  static const char codes[] = "n\nt\tr\rb\bf\f";
  const char *found = c ? strchr(codes, c) : NULL;
  bool is_code = found && (found - codes) % 2 == 0;
  return is_code ? found[1] : c;
}

/* Into the file's arena, with escapes resolved. */
static hr_status_t parse_string(json_t *json, hr_str_t *out_string) {
  if (!accept(json, '"')) return damaged(json, "a string");
  const char *start = json->at;
  size_t size = 0;
  while (json->at < json->end && *json->at != '"') json->at += *json->at == '\\' ? 2 : 1;
  if (json->at >= json->end) return damaged(json, "the end of a string");
  void *memory;
  HR_TRY(hr_arena_alloc(&json->file->arena, (size_t)(json->at - start) + 1, &memory));
  char *text = memory;
  for (const char *from = start; from < json->at; from++) {
    bool is_escaped = *from == '\\';
    from += is_escaped;
    text[size++] = is_escaped ? unescape(*from) : *from;
  }
  text[size] = 0;
  json->at++;
  *out_string = (hr_str_t){text, size};
  return NULL;
}

/* 19 digits fit into 64 bits; larger numbers are refused as negative. */
static hr_status_t parse_number(json_t *json, uint64_t *out_number) {
  skip_space(json);
  const char *start = json->at;
  uint64_t number = 0;
  while (json->at < json->end && *json->at >= '0' && *json->at <= '9' && json->at - start < 19)
    number = number * 10 + (uint64_t)(*json->at++ - '0');
  if (json->at == start || number > INT64_MAX) return damaged(json, "a whole number");
  *out_number = number;
  return NULL;
}

/* "[1, 2]": at most `capacity` numbers. */
static hr_status_t parse_numbers(json_t *json, int capacity, uint64_t *numbers, int *out_count) {
  int count = 0;
  if (!accept(json, '[')) return damaged(json, "a list of numbers");
  while (!accept(json, ']')) {
    if (count && !accept(json, ',')) return damaged(json, "','");
    if (count == capacity) return damaged(json, "fewer numbers");
    HR_TRY(parse_number(json, &numbers[count++]));
  }
  *out_count = count;
  return NULL;
}

/* {"format": "pt"} */
static hr_status_t skip_metadata(json_t *json) {
  hr_str_t ignored;
  if (!accept(json, '{')) return damaged(json, "an object of strings");
  for (bool first = true; !accept(json, '}'); first = false) {
    if (!first && !accept(json, ',')) return damaged(json, "','");
    HR_TRY(parse_string(json, &ignored));
    if (!accept(json, ':')) return damaged(json, "':'");
    HR_TRY(parse_string(json, &ignored));
  }
  return NULL;
}

/* --- arrays --- */

/* Remembers the size of an element, too. */
static hr_status_t set_type(json_t *json, hr_str_t name, npy_t *npy) {
  if (!find_type(name, &npy->dtype))
    return hr_error(HR_INVALID, "%s: arrays of type %.*s cannot be read", json->file->path,
                    HR_STR_ARGS(name));
  npy->item_bytes = (int)hr_dtype_bytes(npy->dtype);
  return NULL;
}

/* Fields may come in any order, and twice: the last counts. */
static hr_status_t parse_field(json_t *json, npy_t *npy, uint64_t offsets[2]) {
  uint64_t dims[HR_MAX_RANK];
  hr_str_t key, type;
  int count = 0;
  HR_TRY(parse_string(json, &key));
  if (!accept(json, ':')) return damaged(json, "':'");
  if (hr_str_is(key, "dtype")) {
    HR_TRY(parse_string(json, &type));
    return set_type(json, type, npy);
  }
  if (hr_str_is(key, "data_offsets")) {
    HR_TRY(parse_numbers(json, 2, offsets, &count));
    return count == 2 ? NULL : damaged(json, "two offsets");
  }
  if (!hr_str_is(key, "shape")) return damaged(json, "dtype, shape or data_offsets");
  HR_TRY(parse_numbers(json, HR_MAX_RANK, dims, &npy->rank));
  for (int d = 0; d < npy->rank; d++) npy->dims[d] = (int64_t)dims[d];
  return NULL;
}

/* The bytes between the offsets are those that the shape needs. */
static hr_status_t check_extent(json_t *json, const safetensor_t *one, const uint64_t offsets[2],
                                uint64_t data_bytes) {
  const npy_t *npy = &one->npy;
  uint64_t bytes = (uint64_t)npy->item_bytes;
  bool empty = false, overflow = false;
  for (int d = 0; d < npy->rank; d++) {
    empty |= npy->dims[d] == 0;
    overflow |= __builtin_mul_overflow(bytes, (uint64_t)npy->dims[d], &bytes);
  }
  if (empty) bytes = 0;
  bool is_in_file = offsets[0] <= offsets[1] && offsets[1] <= data_bytes;
  if ((!overflow || empty) && is_in_file && offsets[1] - offsets[0] == bytes) return NULL;
  return hr_error(HR_INVALID, "%s: %.*s has bytes %llu to %llu of %llu, which do not fit its shape",
                  json->file->path, HR_STR_ARGS(one->name), (unsigned long long)offsets[0],
                  (unsigned long long)offsets[1], (unsigned long long)data_bytes);
}

/* An entry without a type or a shape is damaged. */
static hr_status_t parse_array(json_t *json, safetensor_t *one) {
  uint64_t offsets[2] = {1, 0}; /* none were given */
  size_t header = (size_t)(json->end - (const char *)hr_buffer_data(json->file->file));
  one->npy = (npy_t){.kind = 'V', .rank = -1, .dtype = HR_TOKEN};
  if (!accept(json, '{')) return damaged(json, "'{'");
  for (bool first = true; !accept(json, '}'); first = false) {
    if (!first && !accept(json, ',')) return damaged(json, "','");
    HR_TRY(parse_field(json, &one->npy, offsets));
  }
  if (one->npy.rank < 0 || !one->npy.item_bytes) return damaged(json, "dtype and shape");
  HR_TRY(check_extent(json, one, offsets, hr_buffer_size(json->file->file) - header));
  one->npy.offset_bytes = header + offsets[0];
  one->npy.count = (int64_t)((offsets[1] - offsets[0]) / (uint64_t)one->npy.item_bytes);
  return NULL;
}

/* Old lists stay in the arena until the end. */
static hr_status_t grow(safetensors_t *file, size_t *capacity) {
  safetensor_t *grown;
  if (file->count < *capacity) return NULL;
  *capacity = *capacity ? *capacity * 2 : 16;
  HR_TRY(HR_NEW_ARRAY(&file->arena, *capacity, &grown));
  if (file->count) memcpy(grown, file->arrays, file->count * sizeof *grown);
  file->arrays = grown;
  return NULL;
}

/* Names are put in the map afterwards, when the list stays where it is. */
static hr_status_t parse_header(json_t *json) {
  safetensors_t *file = json->file;
  size_t capacity = 0;
  hr_str_t name;
  if (!accept(json, '{')) return damaged(json, "'{'");
  for (bool first = true; !accept(json, '}'); first = false) {
    if (!first && !accept(json, ',')) return damaged(json, "','");
    HR_TRY(parse_string(json, &name));
    if (!accept(json, ':')) return damaged(json, "':'");
    if (hr_str_is(name, "__metadata__")) {
      HR_TRY(skip_metadata(json));
      continue;
    }
    HR_TRY(grow(file, &capacity));
    file->arrays[file->count].name = name;
    HR_TRY(parse_array(json, &file->arrays[file->count]));
    file->count++;
  }
  return NULL;
}

/* A failure leaves a file that may be closed. */
hr_status_t safetensors_open(const char *path, hr_buffer_t *bytes, safetensors_t *out_file) {
  safetensors_t *file = out_file;
  *file = (safetensors_t){.path = path, .file = hr_buffer_retain(bytes)};
  hr_arena_init(&file->arena);
  hr_map_init(&file->by_name);
  hr_str_t text = {hr_buffer_data(bytes), hr_buffer_size(bytes)};
  if (!safetensors_is(text)) return hr_error(HR_INVALID, "%s is no safetensors file", path);
  const char *start = text.data + LENGTH_BYTES;
  json_t json = {start, start + read_length(text.data), file};
  HR_TRY(parse_header(&json));
  for (size_t i = 0; i < file->count; i++)
    HR_TRY(hr_map_put(&file->by_name, file->arrays[i].name, &file->arrays[i], NULL));
  return NULL;
}

/* Arrays that were found keep the bytes alive. */
void safetensors_deinit(safetensors_t *file) {
  hr_buffer_release(file->file);
  hr_map_deinit(&file->by_name);
  hr_arena_deinit(&file->arena);
}

/* Lives as long as the file. */
hr_str_t safetensors_name(const safetensors_t *file, size_t index) {
  return file->arrays[index].name;
}

/* Names are unique in a map: of equal ones the first counts. */
hr_status_t safetensors_find(const safetensors_t *file, const char *name, bool *out_found,
                             npy_t *out_npy) {
  const safetensor_t *found = hr_map_get(&file->by_name, hr_str_from(name));
  *out_found = found != NULL;
  if (!found) return NULL;
  *out_npy = found->npy;
  out_npy->buffer = hr_buffer_retain(file->file);
  return NULL;
}

/* --- writing --- */

hr_status_t safetensors_add_entry(hr_strbuf_t *header, const char *name, hr_dtype_t dtype, int rank,
                                  const int64_t *dims, uint64_t *offset_bytes) {
  const char *type = format_name(dtype);
  uint64_t bytes = hr_dtype_bytes(dtype);
  if (!type)
    return hr_error(HR_USAGE, "%s is %s, which safetensors files cannot hold: write an .npz", name,
                    hr_dtype_name(dtype));
  hr_strbuf_printf(header, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[", header->size ? "," : "", name,
                   type);
  for (int d = 0; d < rank; d++) {
    hr_strbuf_printf(header, "%s%lld", d ? "," : "", (long long)dims[d]);
    bytes *= (uint64_t)dims[d];
  }
  hr_strbuf_printf(header, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)*offset_bytes,
                   (unsigned long long)(*offset_bytes + bytes));
  *offset_bytes += bytes;
  return NULL;
}

/* Blanks after the header are allowed, and align the arrays. */
hr_status_t safetensors_begin(hr_file_writer_t *file, hr_strbuf_t *header) {
  unsigned char length[LENGTH_BYTES];
  size_t used = LENGTH_BYTES + header->size + 2;
  size_t padding = -used & (HR_ALIGNMENT - 1);
  HR_TRY(hr_strbuf_finish(header));
  for (int i = 0; i < LENGTH_BYTES; i++)
    length[i] = (unsigned char)((header->size + 2 + padding) >> (8 * i));
  HR_TRY(hr_file_write(file, length, sizeof length));
  HR_TRY(hr_file_write(file, "{", 1));
  HR_TRY(hr_file_write(file, header->data ? header->data : "", header->size));
  HR_TRY(hr_file_write(file, "}", 1));
  for (size_t i = 0; i < padding; i++) HR_TRY(hr_file_write(file, " ", 1));
  return NULL;
}
