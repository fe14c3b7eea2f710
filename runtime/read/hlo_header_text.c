/* HLO text of the header: the first line, a list of module attributes each of which may occur
 * once, and the tables of stack frames after it (FileNames, FunctionNames, FileLocations,
 * StackFrames). */
#include <string.h>

#include "read/hlo_reader.h"

/* { (param, {index}), ... } */
static hr_status_t read_donors(read_hlo_t *r) {
  read_lexer_t *l = &r->lexer;
  HR_VEC(hlo_alias_t) donors = {0};
  hr_status_t st = read_expect(l, READ_OPEN_BRACE);
  for (bool more = !read_is(l, READ_CLOSE_BRACE); more && !st;) {
    hlo_alias_t donor = {0};
    st = read_expect(l, READ_OPEN_PAREN);
    if (!st) st = read_int(l, &donor.operand);
    if (!st) st = read_expect(l, READ_COMMA);
    if (!st) st = read_ints(r, READ_OPEN_BRACE, READ_CLOSE_BRACE, &donor.operand_index);
    if (!st) st = read_expect(l, READ_CLOSE_PAREN);
    if (!st) st = HR_VEC_RESERVE(&donors, donors.count + 1);
    if (!st) donors.data[donors.count++] = donor;
    if (!st) st = read_list_next(l, READ_CLOSE_BRACE, &more);
  }
  if (!st) st = read_expect(l, READ_CLOSE_BRACE);
  void *copy = NULL;
  if (!st) st = hr_arena_copy(r->arena, donors.data, donors.count * sizeof *donors.data, &copy);
  if (!st) r->module->buffer_donor = (hlo_aliasing_t){(int)donors.count, copy};
  HR_VEC_FREE(&donors);
  return st;
}

/* {(params)->result} */
static hr_status_t read_entry_layout(read_hlo_t *r) {
  read_lexer_t *l = &r->lexer;
  HR_TRY(read_expect(l, READ_OPEN_BRACE));
  HR_TRY(read_shape_list(r, READ_OPEN_PAREN, READ_CLOSE_PAREN, &r->module->entry_params));
  HR_TRY(read_expect(l, READ_ARROW));
  HR_TRY(read_shape(r, &r->module->entry_result));
  r->module->has_entry_layout = true;
  return read_expect(l, READ_CLOSE_BRACE);
}

/* true, or {true,false,...} */
static hr_status_t read_bools(read_hlo_t *r, int *out_count, const bool **out_flags) {
  read_lexer_t *l = &r->lexer;
  size_t from = r->ints.count;
  bool list, flag, *flags;
  HR_TRY(read_accept(l, READ_OPEN_BRACE, &list));
  for (bool more = !list || !read_is(l, READ_CLOSE_BRACE); more;) {
    HR_TRY(read_bool(l, &flag));
    HR_VEC_PUSH(&r->ints, flag);
    more = list;
    if (list) HR_TRY(read_list_next(l, READ_CLOSE_BRACE, &more));
  }
  if (list) HR_TRY(read_expect(l, READ_CLOSE_BRACE));
  size_t count = r->ints.count - from;
  HR_TRY(HR_NEW_ARRAY(r->arena, count, &flags));
  for (size_t i = 0; i < count; i++) flags[i] = r->ints.data[from + i] != 0;
  r->ints.count = from;
  *out_count = (int)count;
  *out_flags = flags;
  return NULL;
}

/* The text between braces, which HLO does not interpret. */
static hr_status_t read_raw_braces(read_hlo_t *r, hr_str_t *out_text) {
  if (!read_is(&r->lexer, READ_OPEN_BRACE)) return read_want(&r->lexer, "'{'");
  HR_TRY(read_braces(&r->lexer, out_text));
  *out_text = (hr_str_t){out_text->data + 1, out_text->size - 2};
  return NULL;
}

/* Number of replicas or partitions. */
static hr_status_t read_count(read_hlo_t *r, int64_t *out_count) {
  if (read_is(&r->lexer, READ_INT) &&
      ((int64_t)r->lexer.token.bits < 1 || (int64_t)r->lexer.token.bits > HLO_MAX_DEVICES))
    return read_want(&r->lexer, "1 to %ld", (long)HLO_MAX_DEVICES);
  return read_int(&r->lexer, out_count);
}

/* input_output_alias={ {out}: (param, {index}, may-alias), ... } */
static hr_status_t read_module_aliasing(read_hlo_t *r) {
  const hlo_aliasing_t *aliasing;
  HR_TRY(read_aliasing(r, &aliasing));
  r->module->input_output_alias = *aliasing;
  return NULL;
}

/* is_scheduled=true: instructions stand in the order in which they run. */
static hr_status_t read_is_scheduled(read_hlo_t *r) {
  return read_bool(&r->lexer, &r->module->is_scheduled);
}
/* alias_passthrough_params=true or false */
static hr_status_t read_passthrough(read_hlo_t *r) {
  return read_bool(&r->lexer, &r->module->alias_passthrough_params);
}
/* allow_spmd_sharding_propagation_to_parameters={true,false,...} */
static hr_status_t read_propagate_params(read_hlo_t *r) {
  return read_bools(r, &r->module->propagate_params_count, &r->module->propagate_params);
}
/* allow_spmd_sharding_propagation_to_output={true,false,...} */
static hr_status_t read_propagate_output(read_hlo_t *r) {
  return read_bools(r, &r->module->propagate_output_count, &r->module->propagate_output);
}
static hr_status_t read_replica_count(read_hlo_t *r) {
  return read_count(r, &r->module->replica_count);
}
static hr_status_t read_num_partitions(read_hlo_t *r) {
  return read_count(r, &r->module->num_partitions);
}
/* frontend_attributes={name="value",...} */
static hr_status_t read_module_pairs(read_hlo_t *r) {
  return read_pairs(r, &r->module->frontend_attributes);
}
/* Kept as text: no pass reads the entries. */
static hr_status_t read_origin_table(read_hlo_t *r) {
  return read_raw_braces(r, &r->module->origin_recovery_table);
}
static hr_status_t read_debug_attributes(read_hlo_t *r) {
  return read_raw_braces(r, &r->module->debug_attributes);
}
/* Old versions had this attribute; nothing depends on it. */
static hr_status_t read_parameter_binding(read_hlo_t *r) {
  hr_str_t dropped;
  return read_raw_braces(r, &dropped);
}

static const struct {
  const char *name;
  hr_status_t (*read)(read_hlo_t *r);
} headers[] = {
    {"is_scheduled", read_is_scheduled},
    {"input_output_alias", read_module_aliasing},
    {"buffer_donor", read_donors},
    {"alias_passthrough_params", read_passthrough},
    {"entry_computation_layout", read_entry_layout},
    {"allow_spmd_sharding_propagation_to_parameters", read_propagate_params},
    {"allow_spmd_sharding_propagation_to_output", read_propagate_output},
    {"replica_count", read_replica_count},
    {"num_partitions", read_num_partitions},
    {"frontend_attributes", read_module_pairs},
    {"origin_recovery_table", read_origin_table},
    {"debug_attributes", read_debug_attributes},
    {"dynamic_parameter_binding", read_parameter_binding},
};
#define HEADER_COUNT (sizeof headers / sizeof *headers)

/* One attribute; `seen` has a bit for each row of `headers`. */
static hr_status_t read_header_attr(read_hlo_t *r, unsigned *seen) {
  read_lexer_t *l = &r->lexer;
  size_t name = 0, used = 0;
  if (!read_is(l, READ_ATTR))
    return read_want(l, "an attribute of the module, its name directly followed by '='");
  while (name < HEADER_COUNT && !hr_str_is(l->token.text, headers[name].name)) name++;
  if (name == HEADER_COUNT) {
    char list[512];
    for (size_t i = 0; i < HEADER_COUNT && used < sizeof list; i++)
      used +=
          (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", headers[i].name);
    return read_want(l, "one of %s", list);
  }
  if (*seen >> name & 1) return read_want(l, "each attribute once");
  *seen |= 1u << name;
  HR_TRY(read_advance(l));
  return headers[name].read(r);
}

/* The name of a module may be any word, even an element type. */
hr_status_t read_header(read_hlo_t *r) {
  read_lexer_t *l = &r->lexer;
  unsigned seen = 0;
  bool more;
  HR_TRY(read_advance(l));
  hr_str_t name = l->token.text;
  if (!read_is(l, READ_NAME) && !read_is(l, READ_WORD) && !read_is(l, READ_TYPE) &&
      !read_is(l, READ_KEYWORD))
    return read_want(l, "the name of the module");
  HR_TRY(hr_arena_str(r->arena, name, &r->module->name));
  HR_TRY(read_advance(l));
  HR_TRY(read_accept(l, READ_COMMA, &more));
  while (more) {
    HR_TRY(read_header_attr(r, &seen));
    HR_TRY(read_accept(l, READ_COMMA, &more));
  }
  return NULL;
}

/* Stack frames --------------------------------------------------------------------------------- */

/* A line for each entry: number and string. The numbers are ignored: lines are in order. */
static hr_status_t read_name_table(read_hlo_t *r, read_keyword_t keyword, const char *title,
                                   int *out_count, const hr_str_t **out_names) {
  read_lexer_t *l = &r->lexer;
  HR_VEC(hr_str_t) names = {0};
  hr_status_t st = read_is_keyword(l, keyword) ? read_advance(l) : read_want(l, "%s", title);
  while (!st && read_is(l, READ_INT)) {
    st = read_advance(l);
    if (!st) st = HR_VEC_RESERVE(&names, names.count + 1);
    if (!st) st = read_string(l, &names.data[names.count]);
    names.count += !st;
  }
  void *copy = NULL;
  if (!st) st = hr_arena_copy(r->arena, names.data, names.count * sizeof *names.data, &copy);
  *out_count = (int)names.count;
  *out_names = copy;
  HR_VEC_FREE(&names);
  return st;
}

/* {key=1 key=2 ...}: the named numbers; commas are tolerated. */
static hr_status_t read_record(read_hlo_t *r, const char *const *keys, int key_count,
                               int64_t *numbers) {
  read_lexer_t *l = &r->lexer;
  memset(numbers, 0, (size_t)key_count * sizeof *numbers);
  HR_TRY(read_expect(l, READ_OPEN_BRACE));
  while (!read_is(l, READ_CLOSE_BRACE)) {
    int key = 0;
    bool comma;
    while (key < key_count && !(read_is(l, READ_ATTR) && hr_str_is(l->token.text, keys[key])))
      key++;
    if (key == key_count) return read_want(l, "'}' or a key such as %s=", keys[0]);
    HR_TRY(read_advance(l));
    HR_TRY(read_int(l, &numbers[key]));
    HR_TRY(read_accept(l, READ_COMMA, &comma));
  }
  return read_advance(l);
}

/* Pushes the numbers of all records on r->ints, key_count each. */
static hr_status_t read_records(read_hlo_t *r, read_keyword_t keyword, const char *title,
                                const char *const *keys, int key_count) {
  read_lexer_t *l = &r->lexer;
  if (!read_is_keyword(l, keyword)) return read_want(l, "%s", title);
  HR_TRY(read_advance(l));
  while (read_is(l, READ_INT)) {
    HR_TRY(read_advance(l));
    HR_TRY(HR_VEC_RESERVE(&r->ints, r->ints.count + (size_t)key_count));
    HR_TRY(read_record(r, keys, key_count, r->ints.data + r->ints.count));
    r->ints.count += (size_t)key_count;
  }
  return NULL;
}

/* Six numbers for each location. */
static hr_status_t read_locations(read_hlo_t *r, hlo_stack_frames_t *frames) {
  static const char *const keys[] = {"file_name_id", "function_name_id", "line",
                                     "end_line",     "column",           "end_column"};
  size_t from = r->ints.count;
  HR_TRY(read_records(r, READ_KEYWORD_FILE_LOCATIONS, "FileLocations", keys, 6));
  hlo_file_location_t *locations;
  frames->location_count = (int)((r->ints.count - from) / 6);
  HR_TRY(HR_NEW_ARRAY(r->arena, frames->location_count, &locations));
  for (int i = 0; i < frames->location_count; i++) {
    const int64_t *n = r->ints.data + from + 6 * (size_t)i;
    locations[i] = (hlo_file_location_t){n[0], n[1], n[2], n[3], n[4], n[5]};
  }
  frames->locations = locations;
  r->ints.count = from;
  return NULL;
}

/* The text writes a frame's parent plus one, so that "none" is 1. */
static hr_status_t read_frames(read_hlo_t *r, hlo_stack_frames_t *frames) {
  static const char *const keys[] = {"file_location_id", "parent_frame_id"};
  size_t from = r->ints.count;
  HR_TRY(read_records(r, READ_KEYWORD_STACK_FRAMES, "StackFrames", keys, 2));
  hlo_stack_frame_t *list;
  frames->frame_count = (int)((r->ints.count - from) / 2);
  HR_TRY(HR_NEW_ARRAY(r->arena, frames->frame_count, &list));
  for (int i = 0; i < frames->frame_count; i++) {
    const int64_t *n = r->ints.data + from + 2 * (size_t)i;
    list[i] = (hlo_stack_frame_t){n[0], n[1] > 0 ? n[1] - 1 : 0};
  }
  frames->frames = list;
  r->ints.count = from;
  return NULL;
}

/* Each table is optional; their order is fixed. */
hr_status_t read_stack_frames(read_hlo_t *r) {
  hlo_stack_frames_t *frames;
  HR_TRY(HR_NEW(r->arena, &frames));
  HR_TRY(read_name_table(r, READ_KEYWORD_FILE_NAMES, "FileNames", &frames->file_count,
                         &frames->files));
  HR_TRY(read_name_table(r, READ_KEYWORD_FUNCTION_NAMES, "FunctionNames", &frames->function_count,
                         &frames->functions));
  HR_TRY(read_locations(r, frames));
  HR_TRY(read_frames(r, frames));
  r->module->stack_frames = frames;
  return NULL;
}
