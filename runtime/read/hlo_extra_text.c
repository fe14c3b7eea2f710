/* HLO text of attributes that every op may have: sharding, frontend attributes, control
 * predecessors, statistics, replication, origin, metadata, backend configuration. A table maps
 * names to readers; each may occur once. */
#include <stdlib.h>
#include <string.h>

#include "ir/origin.h"
#include "read/hlo_reader.h"

/* Attributes that any instruction may carry. */

/* Metadata ------------------------------------------------------------------------------------- */

/* Unknown keys are refused, as a misspelt one would be lost. */
static hr_status_t read_metadata_value(read_hlo_t *r, hr_str_t key, hlo_metadata_t *m,
                                       bool *out_known) {
  const struct {
    const char *key;
    hr_str_t *text;
    int64_t *number;
  } fields[] = {
      {"op_type", &m->op_type, NULL},
      {"op_name", &m->op_name, NULL},
      {"source_file", &m->source_file, NULL},
      {"source_line", NULL, &m->source_line},
      {"source_end_line", NULL, &m->source_end_line},
      {"source_column", NULL, &m->source_column},
      {"source_end_column", NULL, &m->source_end_column},
      {"stack_frame_id", NULL, &m->stack_frame_id},
      {"deduplicated_name", &m->deduplicated_name, NULL},
      {"scheduling_name", &m->scheduling_name, NULL},
  };
  hr_str_t payload; /* a tool's own; has no meaning here */
  *out_known = true;
  if (hr_str_is(key, "metadata_payload")) {
    HR_TRY(read_advance(&r->lexer));
    return read_string(&r->lexer, &payload);
  }
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    if (!hr_str_is(key, fields[i].key)) continue;
    HR_TRY(read_advance(&r->lexer));
    return fields[i].text ? read_string(&r->lexer, fields[i].text)
                          : read_int(&r->lexer, fields[i].number);
  }
  *out_known = hr_str_is(key, "profile_type");
  if (!*out_known) return NULL;
  HR_TRY(read_advance(&r->lexer));
  return read_ints(r, READ_OPEN_BRACE, READ_CLOSE_BRACE, &m->profile_type);
}

/* key=value pairs separated by blanks. */
hr_status_t read_metadata(read_hlo_t *r, hlo_metadata_t *out_metadata) {
  read_lexer_t *l = &r->lexer;
  *out_metadata = (hlo_metadata_t){0};
  HR_TRY(read_expect(l, READ_OPEN_BRACE));
  while (!read_is(l, READ_CLOSE_BRACE)) {
    bool known = read_is(l, READ_COMMA); /* commas are tolerated anywhere */
    if (known)
      HR_TRY(read_advance(l));
    else if (read_is(l, READ_ATTR))
      HR_TRY(read_metadata_value(r, l->token.text, out_metadata, &known));
    if (!known) return read_want(l, "'}' or a key of metadata, such as op_name=");
  }
  return read_advance(l);
}

/* Frontend attributes -------------------------------------------------------------------------- */

/* Order of bytes; a prefix comes before the longer name. */
static int compare_names(const void *a, const void *b) {
  hr_str_t x = ((const hlo_name_value_t *)a)->name;
  hr_str_t y = ((const hlo_name_value_t *)b)->name;
  int order = memcmp(x.data, y.data, x.size < y.size ? x.size : y.size);
  return order ? order : (x.size > y.size) - (x.size < y.size);
}

/* Sorted by name when the dictionary ends. */
hr_status_t read_pairs(read_hlo_t *r, hlo_name_values_t *out_pairs) {
  read_lexer_t *l = &r->lexer;
  size_t from = r->pairs.count;
  HR_TRY(read_expect(l, READ_OPEN_BRACE));
  for (bool more = !read_is(l, READ_CLOSE_BRACE); more;) {
    hlo_name_value_t pair = {.name = l->token.text};
    if (!read_is(l, READ_ATTR)) return read_want(l, "a name directly followed by '='");
    HR_TRY(read_advance(l));
    pair.raw = read_is(l, READ_OPEN_BRACE);
    HR_TRY(read_string_or_braces(l, &pair.value));
    HR_VEC_PUSH(&r->pairs, pair);
    HR_TRY(read_list_next(l, READ_CLOSE_BRACE, &more));
  }
  HR_TRY(read_expect(l, READ_CLOSE_BRACE));
  size_t count = r->pairs.count - from;
  if (count > 1) qsort(r->pairs.data + from, count, sizeof *r->pairs.data, compare_names);
  void *copy;
  HR_TRY(hr_arena_copy(r->arena, r->pairs.data + from, count * sizeof *r->pairs.data, &copy));
  *out_pairs = (hlo_name_values_t){(int)count, copy};
  r->pairs.count = from;
  return NULL;
}

/* Statistics ----------------------------------------------------------------------------------- */

/* visualizing_index first, then name=number. */
static hr_status_t read_statistics(read_hlo_t *r, const hlo_statistics_t **out_statistics) {
  read_lexer_t *l = &r->lexer;
  HR_VEC(struct hlo_statistic) items = {0};
  hlo_statistics_t *result = NULL;
  hr_status_t st = HR_NEW(r->arena, &result);
  if (!st) st = read_expect(l, READ_OPEN_BRACE);
  if (!st && !(read_is(l, READ_ATTR) && hr_str_is(l->token.text, "visualizing_index")))
    st = read_want(l, "visualizing_index=");
  if (!st) st = read_advance(l);
  if (!st) st = read_int(l, &result->visualizing_index);
  for (bool more = false; !st;) {
    st = read_list_next(l, READ_CLOSE_BRACE, &more);
    if (st || !more) break;
    if (!read_is(l, READ_ATTR)) st = read_want(l, "a name directly followed by '='");
    if (!st) st = HR_VEC_RESERVE(&items, items.count + 1);
    if (!st) items.data[items.count].name = l->token.text;
    if (!st) st = read_advance(l);
    if (!st) st = read_number(r, &items.data[items.count].value);
    items.count += !st;
  }
  if (!st) st = read_advance(l);
  void *copy = NULL;
  if (!st) st = hr_arena_copy(r->arena, items.data, items.count * sizeof *items.data, &copy);
  if (!st) {
    result->count = (int)items.count;
    result->items = copy;
    *out_statistics = result;
  }
  HR_VEC_FREE(&items);
  return st;
}

/* Origins -------------------------------------------------------------------------------------- */

/* {} or {"name" {index}} */
static hr_status_t read_origin_leaf(read_hlo_t *r, hlo_origin_t *leaf) {
  read_lexer_t *l = &r->lexer;
  HR_TRY(read_expect(l, READ_OPEN_BRACE));
  leaf->known = read_is(l, READ_STRING);
  if (leaf->known) HR_TRY(read_string(l, &leaf->instruction));
  if (leaf->known && read_is(l, READ_OPEN_BRACE))
    HR_TRY(read_ints(r, READ_OPEN_BRACE, READ_CLOSE_BRACE, &leaf->index));
  return read_expect(l, READ_CLOSE_BRACE);
}

/* A tuple of trees, or a leaf. */
static hr_status_t read_origin_tree(read_hlo_t *r, const hlo_origin_t **out_origin) {
  read_lexer_t *l = &r->lexer;
  hlo_origin_t *origin;
  size_t from = r->nodes.count;
  HR_TRY(HR_NEW(r->arena, &origin));
  *out_origin = origin;
  if (!read_is(l, READ_OPEN_PAREN)) return read_origin_leaf(r, origin);
  HR_TRY(read_deeper(r, "tuples"));
  HR_TRY(read_advance(l));
  for (bool more = !read_is(l, READ_CLOSE_PAREN); more;) {
    const hlo_origin_t *element;
    HR_TRY(read_origin_tree(r, &element));
    HR_VEC_PUSH(&r->nodes, element);
    HR_TRY(read_list_next(l, READ_CLOSE_PAREN, &more));
  }
  read_shallower(r);
  void *copy;
  HR_TRY(hr_arena_copy(r->arena, r->nodes.data + from,
                       (r->nodes.count - from) * sizeof *r->nodes.data, &copy));
  origin->is_tuple = true;
  origin->element_count = (int)(r->nodes.count - from);
  origin->elements = copy;
  r->nodes.count = from;
  return read_expect(l, READ_CLOSE_PAREN);
}

/* [synthetic_call] */
static hr_status_t read_synthetic_origin(read_hlo_t *r, const hlo_origin_t **out_origin) {
  read_lexer_t *l = &r->lexer;
  hlo_origin_t *origin;
  HR_TRY(HR_NEW(r->arena, &origin));
  HR_TRY(read_advance(l));
  if (!read_is_word(l, "synthetic_call")) return read_want(l, "synthetic_call");
  HR_TRY(read_advance(l));
  origin->synthetic_call = true;
  *out_origin = origin;
  return read_expect(l, READ_CLOSE_BRACKET);
}

/* {tree} or {[synthetic_call]} */
static hr_status_t read_origin(read_hlo_t *r, read_draft_t *draft) {
  read_lexer_t *l = &r->lexer;
  HR_TRY(read_expect(l, READ_OPEN_BRACE));
  bool synthetic = read_is(l, READ_OPEN_BRACKET);
  HR_TRY(synthetic ? read_synthetic_origin(r, &draft->extra.origin)
                   : read_origin_tree(r, &draft->extra.origin));
  return read_expect(l, READ_CLOSE_BRACE);
}

/* Control predecessors and replication --------------------------------------------------------- */

/* Predecessors must be defined before. */
static hr_status_t read_control(read_hlo_t *r, read_draft_t *draft) {
  read_lexer_t *l = &r->lexer;
  size_t from = r->instrs.count;
  HR_TRY(read_expect(l, READ_OPEN_BRACE));
  for (bool more = true; more;) {
    hr_str_t name;
    size_t at = l->token.at;
    HR_TRY(read_name(r, "the name of an instruction", &name));
    hlo_instr_t *instr = hr_map_get(&r->scope->names, name);
    if (!instr)
      return READ_ERROR_AT(l, at, "instruction '%.*s' is not defined before this",
                           HR_STR_ARGS(name));
    HR_VEC_PUSH(&r->instrs, instr);
    HR_TRY(read_list_next(l, READ_CLOSE_BRACE, &more));
  }
  HR_TRY(read_expect(l, READ_CLOSE_BRACE));
  size_t count = r->instrs.count - from;
  void *copy;
  HR_TRY(hr_arena_copy(r->arena, r->instrs.data + from, count * sizeof *r->instrs.data, &copy));
  draft->extra.control_predecessors = copy;
  draft->extra.control_count = (int)count;
  r->instrs.count = from;
  return NULL;
}

/* One flag per leaf of the parameter. */
static hr_status_t read_replication(read_hlo_t *r, read_draft_t *draft) {
  read_lexer_t *l = &r->lexer;
  size_t from = r->ints.count;
  HR_TRY(read_expect(l, READ_OPEN_BRACE));
  for (bool more = !read_is(l, READ_CLOSE_BRACE); more;) {
    bool value;
    HR_TRY(read_bool(l, &value));
    HR_VEC_PUSH(&r->ints, value);
    HR_TRY(read_list_next(l, READ_CLOSE_BRACE, &more));
  }
  HR_TRY(read_expect(l, READ_CLOSE_BRACE));
  bool *copy;
  size_t count = r->ints.count - from;
  HR_TRY(HR_NEW_ARRAY(r->arena, count, &copy));
  for (size_t i = 0; i < count; i++) copy[i] = r->ints.data[from + i] != 0;
  draft->extra.replication = copy;
  draft->extra.replication_count = (int)count;
  r->ints.count = from;
  return NULL;
}

/* ---------------------------------------------------------------------------------------------- */

static hr_status_t read_extra_sharding(read_hlo_t *r, read_draft_t *draft) {
  return read_sharding(r, &draft->extra.sharding);
}

static hr_status_t read_extra_pairs(read_hlo_t *r, read_draft_t *draft) {
  return read_pairs(r, &draft->extra.frontend_attributes);
}

static hr_status_t read_extra_statistics(read_hlo_t *r, read_draft_t *draft) {
  return read_statistics(r, &draft->extra.statistics);
}

/* metadata={op_type="..." op_name="..." ...} */
static hr_status_t read_extra_metadata(read_hlo_t *r, read_draft_t *draft) {
  hlo_metadata_t *metadata;
  HR_TRY(HR_NEW(r->arena, &metadata));
  draft->extra.metadata = metadata;
  return read_metadata(r, metadata);
}

/* backend_config="..." or backend_config={...}; the value is kept as it is written. */
static hr_status_t read_backend_config(read_hlo_t *r, read_draft_t *draft) {
  return read_string_or_braces(&r->lexer, &draft->extra.backend_config);
}

static const struct {
  const char *name;
  hr_status_t (*read)(read_hlo_t *r, read_draft_t *draft);
} extras[] = {
    {"sharding", read_extra_sharding},           {"frontend_attributes", read_extra_pairs},
    {"control-predecessors", read_control},      {"statistics", read_extra_statistics},
    {"parameter_replication", read_replication}, {"origin", read_origin},
    {"metadata", read_extra_metadata},           {"backend_config", read_backend_config},
};
#define EXTRA_COUNT (int)(sizeof extras / sizeof *extras)

const char *read_extra_name(int index) { return index < EXTRA_COUNT ? extras[index].name : NULL; }

/* Each attribute once. */
hr_status_t read_extra(read_hlo_t *r, read_draft_t *draft, hr_str_t name, bool *out_found) {
  *out_found = false;
  for (int i = 0; i < EXTRA_COUNT && !*out_found; i++) {
    if (!hr_str_is(name, extras[i].name)) continue;
    *out_found = true;
    if (draft->extras_seen >> i & 1) return read_want(&r->lexer, "each attribute once");
    draft->extras_seen |= 1u << i;
    HR_TRY(read_advance(&r->lexer));
    HR_TRY(extras[i].read(r, draft));
  }
  return NULL;
}
