/* The header of an array is a Python dictionary of three entries in any order, padded so that the
 * data is aligned. Native row-major data is used in place, in the mapped file; big-endian or
 * column-major arrays, and narrow types whose unused bits must be cleared, are converted. An
 * archive
 * (.npz) is a zip file of such arrays. */
#include "io/npy.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "io/gzip.h"

#define MAGIC "\x93NUMPY"
#define PEEK_BYTES 4096
#define SPARE_BYTES ((uint64_t)1 << 20) /* most bytes after an array; more are an error */
#define MAGIC_BYTES 6
#define HEADER_MAX ((size_t)1 << 20)
#define ITEM_MAX 16

/* --- headers --- */

/* The header is a Python dictionary of three entries, in any order. */
typedef struct cursor {
  const char *at, *end;
} cursor_t;

static void skip_space(cursor_t *c) {
  while (c->at < c->end && strchr(" \t\r\n", *c->at)) c->at++;
}

/* Moves after `wanted`, if it comes next. */
static bool accept(cursor_t *c, char wanted) {
  skip_space(c);
  if (c->at == c->end || *c->at != wanted) return false;
  c->at++;
  return true;
}

/* Passes a word such as True, after spaces. */
static bool accept_word(cursor_t *c, const char *word) {
  size_t size = strlen(word);
  skip_space(c);
  if ((size_t)(c->end - c->at) < size || memcmp(c->at, word, size)) return false;
  c->at += size;
  return true;
}

/* Without escapes: NumPy writes none into a header. */
static bool parse_string(cursor_t *c, hr_str_t *out_string) {
  skip_space(c);
  if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) return false;
  char quote = *c->at++;
  const char *stop = memchr(c->at, quote, (size_t)(c->end - c->at));
  if (!stop) return false;
  *out_string = (hr_str_t){c->at, (size_t)(stop - c->at)};
  c->at = stop + 1;
  return true;
}

/* At most 18 digits, so that nothing overflows. */
static bool parse_int(cursor_t *c, int64_t *out_value) {
  skip_space(c);
  const char *start = c->at;
  int64_t value = 0;
  while (c->at < c->end && *c->at >= '0' && *c->at <= '9' && c->at - start < 18)
    value = value * 10 + (*c->at++ - '0');
  *out_value = value;
  bool digits = c->at > start;
  accept(c, 'L'); /* Python 2 wrote long integers so */
  return digits;
}

/* (3, 4), (3,) or (). */
static bool parse_shape(cursor_t *c, npy_t *npy) {
  if (!accept(c, '(')) return false;
  while (!accept(c, ')')) {
    if (npy->rank == HR_MAX_RANK || !parse_int(c, &npy->dims[npy->rank])) return false;
    npy->rank++;
    if (accept(c, ',')) continue;
    return accept(c, ')');
  }
  return true;
}

/* "<f4": order, kind, bytes. */
static bool parse_descr(hr_str_t descr, npy_t *npy) {
  cursor_t c = {descr.data, descr.data + descr.size};
  npy->swapped = accept(&c, '>');
  if (!npy->swapped && !accept(&c, '<') && !accept(&c, '|')) accept(&c, '=');
  if (c.at == c.end) return false;
  npy->kind = *c.at++;
  if (npy->kind == '?') {
    npy->kind = 'b';
    npy->item_bytes = 1;
    return c.at == c.end;
  }
  int64_t bytes;
  if (!strchr("biufcV", npy->kind) || !parse_int(&c, &bytes) || c.at != c.end) return false;
  npy->item_bytes = (int)bytes;
  if (npy->kind == 'f' && bytes == 1) npy->kind = 'V'; /* float8_e5m2 of ml_dtypes */
  return bytes >= 1 && bytes <= ITEM_MAX && (bytes & (bytes - 1)) == 0;
}

/* One of descr, fortran_order and shape; other keys are errors, as they could change the
 * meaning. */
static hr_status_t parse_entry(cursor_t *c, const char *name, hr_str_t key, npy_t *npy) {
  hr_str_t descr;
  if (hr_str_is(key, "fortran_order")) {
    npy->column_major = accept_word(c, "True");
    if (npy->column_major || accept_word(c, "False")) return NULL;
  } else if (hr_str_is(key, "shape")) {
    npy->rank = 0;
    if (parse_shape(c, npy)) return NULL;
    return hr_error(HR_INVALID, "%s: its shape is no list of at most %d sizes", name, HR_MAX_RANK);
  } else if (hr_str_is(key, "descr")) {
    if (!parse_string(c, &descr))
      return hr_error(HR_INVALID, "%s: structured arrays cannot be read", name);
    if (parse_descr(descr, npy)) return NULL;
    return hr_error(HR_INVALID, "%s: arrays of type '%.*s' cannot be read", name,
                    HR_STR_ARGS(descr));
  }
  return hr_error(HR_INVALID, "%s: its header has a bad entry '%.*s'", name, HR_STR_ARGS(key));
}

/* Entries in any order, with or without a comma at the end. */
static hr_status_t parse_dictionary(cursor_t c, const char *name, npy_t *npy) {
  bool ended = false;
  if (!accept(&c, '{')) return hr_error(HR_INVALID, "%s: its header is no dictionary", name);
  while (!ended && !accept(&c, '}')) {
    hr_str_t key;
    if (!parse_string(&c, &key) || !accept(&c, ':'))
      return hr_error(HR_INVALID, "%s: its header is no dictionary", name);
    HR_TRY(parse_entry(&c, name, key, npy));
    if (accept(&c, ',')) continue;
    ended = accept(&c, '}');
    if (!ended) return hr_error(HR_INVALID, "%s: its header has no end", name);
  }
  if (!npy->item_bytes || npy->rank < 0)
    return hr_error(HR_INVALID, "%s: its header lacks descr or shape", name);
  return NULL;
}

/* Where the dictionary is: version 1 has 16 bits for its length, later ones 32. */
static bool find_dictionary(const unsigned char *at, size_t size, cursor_t *out_text,
                            size_t *out_header_bytes) {
  if (size < 12 || memcmp(at, MAGIC, MAGIC_BYTES) || at[6] < 1 || at[6] > 3) return false;
  size_t start = at[6] == 1 ? 10 : 12;
  size_t length = (size_t)at[8] | (size_t)at[9] << 8;
  if (at[6] > 1) length |= (size_t)at[10] << 16 | (size_t)at[11] << 24;
  if (length > HEADER_MAX || length > size - start) return false;
  *out_text = (cursor_t){(const char *)at + start, (const char *)at + start + length};
  *out_header_bytes = start + length;
  return true;
}

/* The data must be there: a shape whose elements do not fit into the rest of the file is
 * INVALID, before anything is allocated for it. */
static hr_status_t count_elements(const char *name, npy_t *npy, size_t rest_bytes) {
  uint64_t count = 1, bytes;
  bool empty = false, overflow = false;
  for (int d = 0; d < npy->rank; d++) {
    empty |= npy->dims[d] == 0;
    overflow |= __builtin_mul_overflow(count, (uint64_t)npy->dims[d], &count);
  }
  npy->count = 0;
  if (empty) return NULL;
  if (overflow || __builtin_mul_overflow(count, (uint64_t)npy->item_bytes, &bytes) ||
      bytes > rest_bytes)
    return hr_error(HR_INVALID, "%s is cut off: %zu bytes are too few for its shape", name,
                    rest_bytes);
  npy->count = (int64_t)count;
  return NULL;
}

/* `name` is for messages. Cost: constant; no data is read. */
hr_status_t npy_header(const char *name, hr_buffer_t *buffer, size_t offset_bytes,
                       size_t size_bytes, npy_t *out_npy) {
  const unsigned char *at = (const unsigned char *)hr_buffer_data(buffer) + offset_bytes;
  size_t header_bytes;
  cursor_t text;
  if (!find_dictionary(at, size_bytes, &text, &header_bytes))
    return hr_error(HR_INVALID, "%s is no .npy array, or its header is cut off", name);
  npy_t npy = {.rank = -1, .offset_bytes = offset_bytes + header_bytes, .dtype = HR_TOKEN};
  HR_TRY(parse_dictionary(text, name, &npy));
  HR_TRY(count_elements(name, &npy, size_bytes - header_bytes));
  npy.buffer = hr_buffer_retain(buffer);
  *out_npy = npy;
  return NULL;
}

hr_status_t npy_open(const char *path, npy_t *out_npy) {
  hr_buffer_t *buffer;
  HR_TRY(gzip_map_file(path, &buffer));
  hr_status_t st = npy_header(path, buffer, 0, hr_buffer_size(buffer), out_npy);
  hr_buffer_release(buffer);
  return st;
}

void npy_deinit(npy_t *npy) {
  hr_buffer_release(npy->buffer);
  npy->buffer = NULL;
}

/* --- elements --- */

/* Bits of an element type narrower than a byte; 0 for other types. */
static int narrow_bits(hr_dtype_t dtype) {
  int bits = hr_dtype_table[dtype].bits;
  return dtype != HR_PRED && bits < 8 ? bits : 0;
}

/* Types that NumPy cannot name are raw bytes: any of them with this size. */
bool npy_is(const npy_t *npy, hr_dtype_t dtype) {
  if (npy->dtype != HR_TOKEN) return npy->dtype == dtype;
  if (!hr_dtype_is_array(dtype) || (size_t)npy->item_bytes != hr_dtype_bytes(dtype)) return false;
  bool nameless = hr_dtype_table[dtype].npy_descr[1] == 'V' || narrow_bits(dtype);
  switch (npy->kind) {
    case 'V':
      return nameless;
    case 'b':
      return dtype == HR_PRED;
    case 'i':
      return hr_dtype_class(dtype) == HR_CLASS_SIGNED;
    case 'u':
      return hr_dtype_class(dtype) == HR_CLASS_UNSIGNED;
    case 'f':
      return hr_dtype_is_float(dtype) && !nameless;
    case 'c':
      return hr_dtype_is_complex(dtype);
    default:
      return false;
  }
}

/* ml_dtypes' names for types that NumPy lacks: float8_e4m3fn, bfloat16, int4. */
const char *npy_type_name(hr_dtype_t dtype, char into[32]) {
  static const char *const kinds[] = {[HR_CLASS_SIGNED] = "int",
                                      [HR_CLASS_UNSIGNED] = "uint",
                                      [HR_CLASS_FLOAT] = "float",
                                      [HR_CLASS_COMPLEX] = "complex"};
  const char *name = hr_dtype_name(dtype);
  hr_dtype_class_t kind = hr_dtype_class(dtype);
  if (dtype == HR_PRED)
    snprintf(into, 32, "bool");
  else if (dtype == HR_BF16)
    snprintf(into, 32, "bfloat16");
  else if (kind == HR_CLASS_FLOAT && hr_dtype_table[dtype].npy_descr[1] == 'V')
    snprintf(into, 32, "float%c_%.20s", name[1], name + 2);
  else
    snprintf(into, 32, "%s%d", kinds[kind], hr_dtype_table[dtype].bits);
  return into;
}

/* What a header says, in NumPy's words. */
static int print_type(const npy_t *npy, char into[NPY_TEXT]) {
  char name[32];
  int bits = npy->item_bytes * 8;
  const char *order = npy->swapped ? "big-endian " : "";
  if (npy->dtype != HR_TOKEN)
    return snprintf(into, NPY_TEXT, "%s", npy_type_name(npy->dtype, name));
  switch (npy->kind) {
    case 'b':
      return snprintf(into, NPY_TEXT, "bool");
    case 'i':
      return snprintf(into, NPY_TEXT, "%sint%d", order, bits);
    case 'u':
      return snprintf(into, NPY_TEXT, "%suint%d", order, bits);
    case 'f':
      return snprintf(into, NPY_TEXT, "%sfloat%d", order, bits);
    case 'c':
      return snprintf(into, NPY_TEXT, "%scomplex%d", order, bits);
    default:
      return snprintf(into, NPY_TEXT, "raw %d-bit elements", bits);
  }
}

const char *npy_text(const npy_t *npy, char into[NPY_TEXT]) {
  int used = print_type(npy, into);
  used += snprintf(into + used, NPY_TEXT - (size_t)used, "[");
  for (int d = 0; d < npy->rank && used < NPY_TEXT - 32; d++)
    used += snprintf(into + used, (size_t)(NPY_TEXT - used), "%s%lld", d ? "," : "",
                     (long long)npy->dims[d]);
  snprintf(into + used, (size_t)(NPY_TEXT - used), "]");
  return into;
}

/* Each part of an element by itself: complex numbers have two. */
static void swap_bytes(unsigned char *at, int64_t count, int part_bytes) {
  for (int64_t i = 0; i < count; i++, at += part_bytes)
    for (int a = 0, b = part_bytes - 1; a < b; a++, b--) {
      unsigned char byte = at[a];
      at[a] = at[b];
      at[b] = byte;
    }
}

/* Walks the row-major target; the source's first index varies fastest. */
static void copy_column_major(const npy_t *npy, unsigned char *to, const unsigned char *from) {
  size_t item = (size_t)npy->item_bytes;
  int64_t index[HR_MAX_RANK] = {0}, strides[HR_MAX_RANK], stride = 1, at = 0;
  for (int d = 0; d < npy->rank; d++) {
    strides[d] = stride;
    stride *= npy->dims[d];
  }
  for (int64_t i = 0; i < npy->count; i++) {
    memcpy(to + (size_t)i * item, from + (size_t)at * item, item);
    for (int d = npy->rank - 1; d >= 0; d--) {
      at += strides[d];
      if (++index[d] < npy->dims[d]) break;
      at -= strides[d] * npy->dims[d];
      index[d] = 0;
    }
  }
}

void npy_normalize(hr_dtype_t dtype, void *data, int64_t count) {
  unsigned char *at = data;
  int bits = narrow_bits(dtype), shift = 8 - bits;
  bool is_signed = hr_dtype_class(dtype) == HR_CLASS_SIGNED;
  for (int64_t i = 0; i < count && dtype == HR_PRED; i++) at[i] = at[i] != 0;
  for (int64_t i = 0; i < count && bits; i++) {
    unsigned char high = (unsigned char)(at[i] << shift);
    at[i] = is_signed ? (unsigned char)((int8_t)high >> shift) : (unsigned char)(high >> shift);
  }
}

/* Order of elements, order of bytes, then the bits that narrow types do not use. */
void npy_convert(const npy_t *npy, hr_dtype_t dtype, void *to) {
  const char *from = (const char *)hr_buffer_data(npy->buffer) + npy->offset_bytes;
  bool is_complex = hr_dtype_is_complex(dtype);
  int part_bytes = is_complex ? npy->item_bytes / 2 : npy->item_bytes;
  hr_assert(npy_is(npy, dtype));
  if (npy->column_major)
    copy_column_major(npy, to, (const unsigned char *)from);
  else if (npy->count)
    hr_buffer_copy_out(npy->buffer, npy->offset_bytes, to,
                       (size_t)npy->count * (size_t)npy->item_bytes);
  if (npy->swapped && npy->kind != 'V')
    swap_bytes(to, npy->count * (is_complex ? 2 : 1), part_bytes);
  npy_normalize(dtype, to, npy->count);
}

bool npy_is_direct(const npy_t *npy, hr_dtype_t dtype, bool any_alignment) {
  uintptr_t address = (uintptr_t)hr_buffer_data(npy->buffer) + npy->offset_bytes;
  hr_assert(npy_is(npy, dtype));
  if (npy->swapped || (npy->column_major && npy->rank > 1)) return false;
  if (narrow_bits(dtype) || dtype == HR_PRED) return false;
  return any_alignment || address % (size_t)npy->item_bytes == 0;
}

/* --- archives --- */

/* Refuses a compressed member that is far larger than the array of its header, before inflating it.
 */
static hr_status_t check_size(const npz_t *npz, const zip_member_t *member, const char *name) {
  unsigned char head[PEEK_BYTES];
  size_t got, header_bytes;
  cursor_t text;
  npy_t npy = {.rank = -1, .dtype = HR_TOKEN};
  if (member->size_bytes < SPARE_BYTES) return NULL;
  zip_peek(&npz->zip, member, head, sizeof head, &got);
  if (!find_dictionary(head, got, &text, &header_bytes)) return NULL;
  HR_TRY(parse_dictionary(text, name, &npy));
  HR_TRY(count_elements(name, &npy, (size_t)member->size_bytes - header_bytes));
  uint64_t wanted = header_bytes + (uint64_t)npy.count * (uint64_t)npy.item_bytes;
  if (member->size_bytes - wanted < SPARE_BYTES) return NULL;
  return hr_error(HR_INVALID, "%s: has %llu bytes, its shape says %llu", name,
                  (unsigned long long)member->size_bytes, (unsigned long long)wanted);
}

hr_status_t npz_open(const char *path, npz_t *out_npz) { return zip_open(path, &out_npz->zip); }
hr_status_t npz_open_bytes(const char *name, hr_buffer_t *bytes, npz_t *out_npz) {
  return zip_open_bytes(name, bytes, &out_npz->zip);
}
void npz_deinit(npz_t *npz) { zip_deinit(&npz->zip); }
size_t npz_count(const npz_t *npz) { return npz->zip.count; }

hr_str_t npz_name(const npz_t *npz, size_t index) {
  hr_str_t name = npz->zip.members[index].name;
  if (name.size > 4 && memcmp(name.data + name.size - 4, ".npy", 4) == 0) name.size -= 4;
  return name;
}

hr_status_t npz_find(const npz_t *npz, const char *name, bool *out_found, npy_t *out_npy) {
  char member_name[256], label[512];
  snprintf(member_name, sizeof member_name, "%s.npy", name);
  const zip_member_t *member = zip_find(&npz->zip, hr_str_from(member_name));
  *out_found = member != NULL;
  if (!member) return NULL;
  snprintf(label, sizeof label, "%s of %s", name, npz->zip.path);
  hr_buffer_t *buffer;
  size_t offset;
  HR_TRY(check_size(npz, member, name));
  HR_TRY(zip_bytes(&npz->zip, member, &buffer, &offset));
  hr_status_t st = npy_header(label, buffer, offset, member->size_bytes, out_npy);
  hr_buffer_release(buffer);
  return st;
}

/* Version 1, padded so that the data starts aligned. A header of 32 dimensions of 20 digits fits.
 */
static size_t make_header(char header[1024], hr_dtype_t dtype, int rank, const int64_t *dims) {
  char text[1000];
  int used = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                      hr_dtype_table[dtype].npy_descr);
  for (int d = 0; d < rank; d++)
    used += snprintf(text + used, sizeof text - (size_t)used, "%lld%s", (long long)dims[d],
                     rank == 1      ? ","
                     : d + 1 < rank ? ", "
                                    : "");
  used += snprintf(text + used, sizeof text - (size_t)used, "), }");
  size_t size = ((size_t)used + 11 + HR_ALIGNMENT - 1) & ~(size_t)(HR_ALIGNMENT - 1),
         length = size - 10;
  memcpy(header, MAGIC "\x01\x00", 8);
  header[8] = (char)(length & 0xff);
  header[9] = (char)(length >> 8);
  memset(header + 10, ' ', length);
  memcpy(header + 10, text, (size_t)used);
  header[size - 1] = '\n';
  return size;
}

hr_status_t npy_write(const char *path, hr_dtype_t dtype, int rank, const int64_t *dims,
                      const void *data, size_t size_bytes) {
  char header[1024];
  hr_file_writer_t *writer;
  size_t header_bytes = make_header(header, dtype, rank, dims);
  HR_TRY(hr_file_create(path, &writer));
  hr_status_t st = hr_file_write(writer, header, header_bytes);
  if (!st && size_bytes) st = hr_file_write(writer, data, size_bytes);
  return hr_file_finish(writer, st);
}

hr_status_t npz_add(zip_writer_t *writer, const char *name, hr_dtype_t dtype, int rank,
                    const int64_t *dims, const void *data, size_t size_bytes) {
  char header[1024], member_name[256];
  snprintf(member_name, sizeof member_name, "%s.npy", name);
  size_t header_bytes = make_header(header, dtype, rank, dims);
  return zip_add(writer, member_name, header, header_bytes, data, size_bytes);
}
