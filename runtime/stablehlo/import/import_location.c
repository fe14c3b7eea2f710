/* Locations as metadata: loc("op_name"(place)) names the op, as in JAX and XLA; a name that ends
 * with ':' is the op's type; the place is the innermost file and line. Of several locations, the
 * first name and the first place are used.
 *   fused["Add:", "jit(f)/add"(callsite("f"("model.py":3:4 to :9) at "main"("run.py":1:1)))] */
#include <ctype.h>
#include <string.h>

#include "stablehlo/import/import.h"

#define MAX_DEPTH 100 /* most nested locations */

typedef struct location_text {
  importer_t *importer;
  const char *at, *end;
  hlo_metadata_t *metadata;
  int depth, lists; /* nesting of locations and of lists at this position */
} location_text_t;

/* Skips blanks and, if it comes next, the word. */
static bool take(location_text_t *text, const char *word) {
  size_t size = strlen(word);
  while (text->at < text->end && isspace((unsigned char)*text->at)) text->at++;
  if ((size_t)(text->end - text->at) < size || memcmp(text->at, word, size)) return false;
  text->at += size;
  return true;
}

/* Reads a line or column. */
static bool take_number(location_text_t *text, int64_t *out_number) {
  int64_t number = 0;
  const char *start = text->at;
  while (text->at < text->end && isdigit((unsigned char)*text->at) && number < INT64_C(1) << 40)
    number = 10 * number + (*text->at++ - '0');
  *out_number = number;
  return text->at > start;
}

/* Value of a hexadecimal digit; -1: none. */
static int hex_value(char c) {
  return isdigit((unsigned char)c)    ? c - '0'
         : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
                                      : -1;
}

/* Decodes the escape after a backslash: \n, \t, \\, \", or two hexadecimal digits. */
static char unescape(const char **at, const char *end) {
  const char *p = *at;
  int high = p < end ? hex_value(p[0]) : -1;
  int low = p + 1 < end ? hex_value(p[1]) : -1;
  if (high >= 0 && low >= 0) {
    *at = p + 2;
    return (char)(16 * high + low);
  }
  *at = p + (p < end);
  if (p >= end) return '\\';
  if (*p == 'n') return '\n';
  return *p == 't' ? '\t' : *p;
}

/* Reads a string after its opening quote. */
static hr_status_t take_string(location_text_t *text, hr_str_t *out_string) {
  const char *start = text->at;
  while (text->at < text->end && *text->at != '"') text->at += *text->at == '\\' ? 2 : 1;
  if (text->at > text->end) text->at = text->end;
  HR_TRY(hr_arena_str(text->importer->arena, (hr_str_t){start, (size_t)(text->at - start)},
                      out_string));
  char *to = (char *)out_string->data;
  for (const char *from = to, *end = to + out_string->size; from < end;) {
    char c = *from++;
    *to++ = c == '\\' ? unescape(&from, end) : c;
  }
  out_string->size = (size_t)(to - out_string->data);
  text->at += text->at < text->end;
  return NULL;
}

/* Reads ":3:4" with an optional " to :9" or " to 5:9". */
static void take_source_loc(location_text_t *text, hr_str_t file) {
  int64_t line = 0, column = 0, end_line = 0, end_column = 0;
  take_number(text, &line);
  if (take(text, ":")) take_number(text, &column);
  if (take(text, "to")) {
    take(text, "");
    if (!take_number(text, &end_line)) end_line = line;
    if (take(text, ":")) take_number(text, &end_column);
  }
  hlo_metadata_t *metadata = text->metadata;
  if (metadata->source_file.size) return;
  metadata->source_file = file;
  metadata->source_line = line;
  metadata->source_column = column;
  metadata->source_end_line = end_line;
  metadata->source_end_column = end_column;
}

static hr_status_t take_location(location_text_t *text, bool names);

/* "name"(location), or "file":line:column. */
static hr_status_t take_named(location_text_t *text, bool names) {
  hr_str_t string;
  HR_TRY(take_string(text, &string));
  if (take(text, ":")) {
    take_source_loc(text, string);
    return NULL;
  }
  bool is_type = string.size && string.data[string.size - 1] == ':';
  if (names && is_type && !text->metadata->op_type.size)
    text->metadata->op_type = (hr_str_t){string.data, string.size - 1};
  if (names && !is_type && !text->metadata->op_name.size) text->metadata->op_name = string;
  if (!take(text, "(")) return NULL;
  HR_TRY(take_location(text, false));
  take(text, ")");
  return NULL;
}

/* Locations separated by commas; the first one with a place is used. */
static hr_status_t take_list(location_text_t *text, bool names) {
  while (text->at < text->end && *text->at != '[') text->at++;
  text->lists++;
  for (bool more = take(text, "["); more; more = take(text, ","))
    HR_TRY(take_location(text, names));
  text->lists--;
  take(text, "]");
  return NULL;
}

/* True if nothing more is needed. In a list, a type may follow. */
static bool is_complete(const location_text_t *text) {
  return text->metadata->source_file.size && text->metadata->op_name.size && !text->lists;
}

/* `names`: true if a name here is the op's; names inside of it are those of functions. */
static hr_status_t take_location(location_text_t *text, bool names) {
  if (++text->depth > MAX_DEPTH) text->at = text->end;
  hr_status_t st = NULL;
  if (take(text, "callsite(")) {
    st = take_location(text, false);
    if (is_complete(text)) text->at = text->end;
    if (!st && take(text, "at")) st = take_location(text, false);
    take(text, ")");
  } else if (take(text, "fused")) {
    st = take_list(text, names);
  } else if (take(text, "\"")) {
    st = take_named(text, names);
  } else {
    take(text, "unknown");
  }
  text->depth--;
  return st;
}

struct import_source_loc {
  const mlir_attr_t *location; /* the key */
  hlo_metadata_t metadata;
};

/* Reads by the first word: fused, callsite, unknown, or a string. */
static hr_status_t read_location(importer_t *importer, const mlir_attr_t *location,
                                 import_source_loc_t **out_source_loc) {
  import_source_loc_t *source_loc;
  HR_TRY(HR_NEW(importer->arena, &source_loc));
  source_loc->location = location;
  const char *start = location->text.data;
  location_text_t text = {importer, start, start + location->text.size, &source_loc->metadata,
                          0,        0};
  HR_TRY(take_location(&text, true));
  *out_source_loc = source_loc;
  return NULL;
}

/* Ops that share a location share its metadata while it is in the cache. */
hr_status_t import_location(importer_t *importer, const mlir_attr_t *location,
                            const hlo_metadata_t **out_metadata) {
  *out_metadata = NULL;
  if (!location || location->kind != MLIR_ATTR_LOCATION || hr_str_is(location->text, "unknown"))
    return NULL;
  uint64_t hash = hr_hash_bytes(&location, sizeof location, 0);
  import_source_loc_t **source_loc = &importer->source_locs[hash % IMPORT_SOURCE_LOCS];
  if (!*source_loc || (*source_loc)->location != location)
    HR_TRY(read_location(importer, location, source_loc));
  const hlo_metadata_t *metadata = &(*source_loc)->metadata;
  bool says = metadata->op_name.size || metadata->op_type.size || metadata->source_file.size;
  *out_metadata = says ? metadata : NULL;
  return NULL;
}
