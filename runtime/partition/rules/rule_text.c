/* Sharding rules as Shardy writes them, printed and parsed:
 *
 *   ([i, k], [k, j])->([i, j]) {i=8, j=6, k=16} reduction={k}
 *
 * Factors are named i to z, then z_1, z_2, ...; a dimension of several factors lists them major
 * first without a separator. Rules of a program may stand in #sdy.op_sharding_rule<...>. */
#include <string.h>

#include "base/scan_text.h"
#include "partition/rules/rule_builder.h"

/* Shardy's documents use the letters before i for sizes and axes. */
#define FIRST_NAME 'i'
#define NAMES ('z' - FIRST_NAME + 1)
#define MAX_RULE_FACTORS 4096

/* i, j, ... z, z_1, z_2, ... */
static void print_name(hr_strbuf_t *text, int factor) {
  if (factor < NAMES)
    hr_strbuf_add_char(text, (char)(FIRST_NAME + factor));
  else
    hr_strbuf_printf(text, "z_%d", factor - NAMES + 1);
}

/* [ij, k]: dimension 0 has factors i and j, dimension 1 has k. */
static void print_tensor(hr_strbuf_t *text, const spmd_tensor_factors_t *tensor) {
  hr_strbuf_add_char(text, '[');
  for (int d = 0; d < tensor->rank; d++) {
    if (d) hr_strbuf_add_str(text, ", ");
    for (int i = 0; i < tensor->dims[d].count; i++) print_name(text, tensor->dims[d].factors[i]);
  }
  hr_strbuf_add_char(text, ']');
}

/* Operands, or results, in brackets. */
static void print_tensors(hr_strbuf_t *text, int count, const spmd_tensor_factors_t *tensors) {
  hr_strbuf_add_char(text, '(');
  for (int t = 0; t < count; t++) {
    if (t) hr_strbuf_add_str(text, ", ");
    print_tensor(text, &tensors[t]);
  }
  hr_strbuf_add_char(text, ')');
}

/* " word={i, k}" of the factors for which `wanted` holds. */
static void print_kind(hr_strbuf_t *text, const spmd_rule_t *rule, const char *word,
                       bool (*wanted)(const spmd_factor_t *)) {
  bool any = false;
  for (int f = 0; f < rule->factor_count; f++) {
    if (!wanted(&rule->factors[f])) continue;
    if (any)
      hr_strbuf_add_str(text, ", ");
    else
      hr_strbuf_printf(text, " %s={", word);
    print_name(text, f);
    any = true;
  }
  if (any) hr_strbuf_add_char(text, '}');
}

/* Kinds as the text groups them; factors that pass through are not listed. */
static bool is_reduction(const spmd_factor_t *factor) { return factor->kind == SPMD_REDUCTION; }
static bool is_whole(const spmd_factor_t *factor) { return factor->kind == SPMD_NEED_REPLICATION; }
static bool is_permutation(const spmd_factor_t *factor) { return factor->kind == SPMD_PERMUTATION; }
static bool is_blocked(const spmd_factor_t *factor) { return factor->blocked; }

/* Sizes come in the order of the letters, after both lists of tensors. */
void spmd_rule_print(hr_strbuf_t *text, const spmd_rule_t *rule) {
  print_tensors(text, rule->operand_count, rule->tensors);
  hr_strbuf_add_str(text, "->");
  print_tensors(text, rule->result_count, rule->tensors + rule->operand_count);
  for (int f = 0; f < rule->factor_count; f++) {
    hr_strbuf_add_str(text, f ? ", " : " {");
    print_name(text, f);
    hr_strbuf_printf(text, "=%ld", (long)rule->factors[f].size);
  }
  if (rule->factor_count) hr_strbuf_add_char(text, '}');
  print_kind(text, rule, "reduction", is_reduction);
  print_kind(text, rule, "need_replication", is_whole);
  print_kind(text, rule, "permutation", is_permutation);
  print_kind(text, rule, "blocked_propagation", is_blocked);
  if (rule->custom) hr_strbuf_add_str(text, ", custom");
}

/* --- parsing --- */

/* One factor's name; -1: there is none here. */
static hr_status_t take_factor(hr_scan_t *scan, int *out_factor) {
  int64_t number = 0;
  *out_factor = -1;
  hr_scan_take(scan, "");
  if (scan->at == scan->end || *scan->at < FIRST_NAME || *scan->at > 'z') return NULL;
  int factor = *scan->at++ - FIRST_NAME;
  if (scan->at < scan->end && *scan->at == '_') {
    scan->at++;
    HR_TRY(hr_scan_number(scan, &number));
  }
  if (number > MAX_RULE_FACTORS)
    return hr_error(HR_INVALID, "a rule of more than %d factors", MAX_RULE_FACTORS);
  *out_factor = factor + (int)number;
  return NULL;
}

static hr_status_t want_factor(hr_scan_t *scan, int *out_factor) {
  HR_TRY(take_factor(scan, out_factor));
  return *out_factor >= 0 ? NULL : hr_scan_unexpected(scan, "a factor");
}

/* True if a dimension of the tensor has the factor. */
static bool has_factor(const rule_builder_t *builder, int tensor, int factor) {
  for (int d = 0; d < rule_rank(builder, tensor); d++)
    for (int i = 0; i < builder->dims[tensor][d].count; i++)
      if (builder->dims[tensor][d].factors[i] == factor) return true;
  return false;
}

/* Parses the factors of one dimension; adds those that are new. Their sizes follow later. */
static hr_status_t parse_dim(rule_builder_t *builder, hr_scan_t *scan, int tensor, int dim) {
  for (;;) {
    int factor;
    HR_TRY(take_factor(scan, &factor));
    if (factor < 0) return NULL;
    while (builder->factor_count <= factor && !builder->status)
      rule_add(builder, 1, SPMD_PASS_THROUGH);
    HR_TRY(builder->status);
    if (has_factor(builder, tensor, factor))
      return hlo_error(builder->instr, NULL,
                       "its sharding rule has a factor twice for value %d, in dimension %d again",
                       tensor, dim);
    rule_place(builder, tensor, dim, factor);
    HR_TRY(builder->status);
  }
}

static hr_status_t parse_tensor(rule_builder_t *builder, hr_scan_t *scan, int tensor) {
  int rank = rule_rank(builder, tensor), dim = 0;
  HR_TRY(hr_scan_want(scan, "["));
  for (bool more = !hr_scan_take(scan, "]"); more; dim++) {
    if (dim == rank) break;
    HR_TRY(parse_dim(builder, scan, tensor, dim));
    HR_TRY(hr_scan_more(scan, "]", &more));
  }
  if (dim == rank && scan->at[-1] == ']') return NULL;
  return hlo_error(builder->instr, NULL,
                   "its sharding rule has other than %d dimensions for value %d", rank, tensor);
}

static hr_status_t parse_tensors(rule_builder_t *builder, hr_scan_t *scan, int first, int count) {
  int t = 0;
  HR_TRY(hr_scan_want(scan, "("));
  for (bool more = !hr_scan_take(scan, ")"); more; t++) {
    if (t == count) break;
    HR_TRY(parse_tensor(builder, scan, first + t));
    HR_TRY(hr_scan_more(scan, ")", &more));
  }
  if (t == count && scan->at[-1] == ')') return NULL;
  return hlo_error(builder->instr, NULL, "its sharding rule is for other than %d values", count);
}

/* {i=8, j=6}: factors without a size keep 1. */
static hr_status_t parse_sizes(rule_builder_t *builder, hr_scan_t *scan) {
  if (!hr_scan_take(scan, "{")) return NULL;
  for (bool more = !hr_scan_take(scan, "}"); more;) {
    int factor;
    int64_t size;
    HR_TRY(want_factor(scan, &factor));
    HR_TRY(hr_scan_want(scan, "="));
    HR_TRY(hr_scan_number(scan, &size));
    if (factor >= builder->factor_count)
      return hlo_error(builder->instr, NULL, "its sharding rule has a size for no factor");
    builder->factors[factor].size = size;
    HR_TRY(hr_scan_more(scan, "}", &more));
  }
  return NULL;
}

/* Parses reduction={k}. SPMD_PASS_THROUGH stands for the list of blocked factors, which have a kind
 * besides. */
static hr_status_t parse_kind(rule_builder_t *builder, hr_scan_t *scan, const char *word,
                              spmd_factor_kind_t kind) {
  if (!hr_scan_take(scan, word)) return NULL;
  HR_TRY(hr_scan_want(scan, "={"));
  for (bool more = !hr_scan_take(scan, "}"); more;) {
    int factor;
    HR_TRY(want_factor(scan, &factor));
    if (factor >= builder->factor_count)
      return hlo_error(builder->instr, NULL, "its sharding rule names a factor of no dimension");
    if (kind == SPMD_PASS_THROUGH)
      builder->factors[factor].blocked = true;
    else
      builder->factors[factor].kind = kind;
    HR_TRY(hr_scan_more(scan, "}", &more));
  }
  return NULL;
}

/* The product of the sizes of a dimension's factors; INT64_MAX if it is larger. */
static int64_t size_of_factors(const rule_builder_t *builder, const rule_dim_t *dim) {
  int64_t size = 1;
  for (int i = 0; i < dim->count; i++)
    if (__builtin_mul_overflow(size, builder->factors[dim->factors[i]].size, &size))
      return INT64_MAX;
  return size;
}

/* Checks that the factors of each dimension multiply to its size, the last one rounded up. */
static hr_status_t check_sizes(const rule_builder_t *builder) {
  for (int t = 0; t < rule_tensor_count(builder); t++)
    for (int d = 0; d < rule_rank(builder, t); d++) {
      const rule_dim_t *dim = &builder->dims[t][d];
      int64_t size = size_of_factors(builder, dim), want = rule_size(builder, t, d);
      if (dim->count && size < want)
        return hlo_error(builder->instr, NULL,
                         "its sharding rule makes dimension %d of value %d %ld, want %ld", d, t,
                         (long)size, (long)want);
    }
  return NULL;
}

/* The groups of factors have a fixed order; each may be absent. */
static hr_status_t parse(rule_builder_t *builder, hr_scan_t *scan) {
  bool wrapped =
      hr_scan_take(scan, "#sdy.op_sharding_rule<") || hr_scan_take(scan, "#sdy.op_sharding_rule <");
  HR_TRY(parse_tensors(builder, scan, 0, builder->operand_count));
  HR_TRY(hr_scan_want(scan, "->"));
  HR_TRY(parse_tensors(builder, scan, builder->operand_count, builder->result_count));
  HR_TRY(parse_sizes(builder, scan));
  HR_TRY(parse_kind(builder, scan, "reduction", SPMD_REDUCTION));
  HR_TRY(parse_kind(builder, scan, "need_replication", SPMD_NEED_REPLICATION));
  HR_TRY(parse_kind(builder, scan, "permutation", SPMD_PERMUTATION));
  HR_TRY(parse_kind(builder, scan, "blocked_propagation", SPMD_PASS_THROUGH));
  if (hr_scan_take(scan, ",")) HR_TRY(hr_scan_want(scan, "custom"));
  builder->custom = true;
  if (wrapped) HR_TRY(hr_scan_want(scan, ">"));
  return check_sizes(builder);
}

/* Errors of the text come before those of the builder and have the instruction's place. */
hr_status_t rule_parse(hr_arena_t *arena, const hlo_instr_t *instr, hr_str_t text,
                       const spmd_rule_t **out_rule) {
  rule_builder_t builder;
  hr_scan_t scan = hr_scan(text, "sharding rule");
  hr_where_t where = {.pos = hlo_instr_pos(instr)};
  HR_TRY(hr_arena_cstr(arena, instr->name, &where.instruction));
  HR_TRY(hr_arena_cstr(arena, instr->parent->name, &where.computation));
  HR_TRY(rule_begin(arena, instr, &builder));
  hr_where_push(&where);
  hr_status_t st = parse(&builder, &scan);
  hr_where_pop(&where);
  return st ? hr_status_join(st, builder.status) : rule_finish(&builder, out_rule);
}
