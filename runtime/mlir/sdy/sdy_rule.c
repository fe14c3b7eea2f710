/* Sharding rules that a program gives for its custom calls, and the edges that Shardy records of
 * its propagation.
 *
 *   ([i, jk], [k])->([i, j]) {i=8, j=2, k=4} reduction={k}, custom */
#include <string.h>

#include "mlir/sdy/sdy_internal.h"

/* --- sharding rules --- */

#define FIRST_FACTOR 'i'
#define LETTERS ('z' - FIRST_FACTOR + 1)
#define MAX_FACTORS 4096

typedef struct rule {
  sdy_verifier_t *verifier;
  const mlir_op_t *op;
  hr_scan_t scan;
  int64_t factor_count;
  int64_t *sizes;
  bool *in_operands, *in_results, *in_value, *is_special;
} rule_t;

static bool at_factor(const rule_t *rule) {
  const hr_scan_t *scan = &rule->scan;
  return scan->at < scan->end && *scan->at >= FIRST_FACTOR && *scan->at <= 'z';
}

/* i to z, then z_1, z_2, ... */
static hr_status_t take_factor(rule_t *rule, int64_t *out_factor) {
  hr_scan_t *scan = &rule->scan;
  if (!at_factor(rule)) return hr_scan_unexpected(scan, "a factor, i to z");
  *out_factor = *scan->at++ - FIRST_FACTOR;
  if (scan->at == scan->end || *scan->at != '_') return NULL;
  bool is_z = scan->at[-1] == 'z';
  if (!is_z || scan->at + 1 == scan->end || scan->at[1] < '1' || scan->at[1] > '9')
    return hr_scan_unexpected(scan, "a factor as z_1, with a number from 1 on");
  scan->at++;
  int64_t number;
  HR_TRY(hr_scan_number(scan, &number));
  *out_factor += number;
  return NULL;
}

static const char *factor_text(int64_t factor, char *text, size_t size) {
  if (factor < LETTERS)
    snprintf(text, size, "%c", (char)(FIRST_FACTOR + factor));
  else
    snprintf(text, size, "z_%ld", (long)(factor - LETTERS + 1));
  return text;
}

/* Factors of one dimension; the scanner stands behind blanks. */
static hr_status_t take_dim(rule_t *rule, bool *seen) {
  sdy_verifier_t *verifier = rule->verifier;
  int64_t factor;
  char text[24];
  int count = 0;
  bool has_one = false;
  hr_scan_take(&rule->scan, "");
  const char *at = rule->scan.at;
  for (; !count || at_factor(rule); count++) {
    const char *place = rule->scan.at;
    HR_TRY(take_factor(rule, &factor));
    factor_text(factor, text, sizeof text);
    if (factor >= rule->factor_count)
      return sdy_error(verifier, place, "its sharding rule gives no size for factor %s", text);
    if (rule->in_value[factor])
      return sdy_error(verifier, place, "its sharding rule has factor %s twice for one value",
                       text);
    rule->in_value[factor] = seen[factor] = true;
    has_one |= rule->sizes[factor] == 1;
  }
  if (!has_one || count == 1) return NULL;
  return sdy_error(verifier, at,
                   "its sharding rule has a factor of size 1 beside others, want it left out");
}

static hr_status_t check_type(rule_t *rule, const char *what, int index, const mlir_type_t *type) {
  bool is_static = type->kind == MLIR_TYPE_TENSOR;
  for (int d = 0; is_static && d < type->rank; d++) is_static = type->dims[d] != HR_UNBOUNDED;
  if (is_static) return NULL;
  return sdy_error(rule->verifier, NULL,
                   "its sharding rule is for %s %d, which is no array of static shape", what,
                   index);
}

/* [ij, k] for a value of this type */
static hr_status_t take_value(rule_t *rule, const char *what, int index, const mlir_type_t *type,
                              bool *seen) {
  int count = 0;
  const char *at;
  HR_TRY(check_type(rule, what, index, type));
  memset(rule->in_value, 0, (size_t)rule->factor_count);
  HR_TRY(hr_scan_want(&rule->scan, "["));
  at = rule->scan.at - 1;
  for (bool more = !hr_scan_take(&rule->scan, "]"); more; count++) {
    HR_TRY(take_dim(rule, seen));
    HR_TRY(hr_scan_more(&rule->scan, "]", &more));
  }
  if (count == type->rank) return NULL;
  return sdy_error(rule->verifier, at, "its sharding rule has %d dimension%s for %s %d, want %d",
                   count, count == 1 ? "" : "s", what, index, type->rank);
}

/* ([i, j], [j]): the operands or the results */
static hr_status_t take_values(rule_t *rule, const char *what, int count,
                               const mlir_value_t *const *values, bool *seen) {
  int given = 0;
  HR_TRY(hr_scan_want(&rule->scan, "("));
  const char *at = rule->scan.at - 1;
  for (bool more = true; more; given++) {
    if (given == count)
      return sdy_error(rule->verifier, at, "its sharding rule is for more than %d %s%s", count,
                       what, count == 1 ? "" : "s");
    HR_TRY(take_value(rule, what, given, values[given]->type, seen));
    HR_TRY(hr_scan_more(&rule->scan, ")", &more));
  }
  if (given == count) return NULL;
  return sdy_error(rule->verifier, at, "its sharding rule is for %d %s%s, want %d", given, what,
                   given == 1 ? "" : "s", count);
}

/* {i=8, j=6}: the sizes of all factors in order; 0 for arrays without elements. The scanner is
 * before them. */
static hr_status_t take_sizes(rule_t *rule) {
  char wanted[48], name[24];
  if (!hr_scan_take(&rule->scan, "{")) return NULL;
  for (bool more = !hr_scan_take(&rule->scan, "}"); more;) {
    int64_t factor, size;
    hr_scan_take(&rule->scan, "");
    const char *at = rule->scan.at;
    if (rule->factor_count == MAX_FACTORS)
      return hr_scan_unexpected(&rule->scan, "at most 4096 factors");
    HR_TRY(take_factor(rule, &factor));
    if (factor != rule->factor_count) {
      rule->scan.at = at;
      snprintf(wanted, sizeof wanted, "the size of factor %s",
               factor_text(rule->factor_count, name, sizeof name));
      return hr_scan_unexpected(&rule->scan, wanted);
    }
    HR_TRY(hr_scan_want(&rule->scan, "="));
    HR_TRY(hr_scan_large_number(&rule->scan, &size));
    rule->sizes[rule->factor_count++] = size;
    HR_TRY(hr_scan_more(&rule->scan, "}", &more));
  }
  return NULL;
}

/* reduction={k}: in order, each once, and each in one of the lists but the last */
static hr_status_t take_special(rule_t *rule, const char *word) {
  int64_t factor, last = -1;
  char text[24];
  bool is_reduction = word[0] == 'r', is_blocked = word[0] == 'b';
  if (!hr_scan_take(&rule->scan, word)) return NULL;
  HR_TRY(hr_scan_want(&rule->scan, "="));
  HR_TRY(hr_scan_want(&rule->scan, "{"));
  for (bool more = !hr_scan_take(&rule->scan, "}"); more;) {
    hr_scan_take(&rule->scan, "");
    const char *at = rule->scan.at;
    HR_TRY(take_factor(rule, &factor));
    factor_text(factor, text, sizeof text);
    if (factor >= rule->factor_count)
      return sdy_error(rule->verifier, at, "its sharding rule has no factor %s", text);
    if (factor <= last)
      return sdy_error(rule->verifier, at, "%s lists factor %s after %s, want ascending ones", word,
                       text, factor == last ? "itself" : "a later one");
    if (!is_blocked && rule->is_special[factor])
      return sdy_error(rule->verifier, at, "factor %s is in %s and in another list, want one", text,
                       word);
    if (is_reduction && rule->in_results[factor])
      return sdy_error(rule->verifier, at, "factor %s is reduced, but is in a result", text);
    rule->is_special[factor] |= !is_blocked;
    last = factor;
    HR_TRY(hr_scan_more(&rule->scan, "}", &more));
  }
  return NULL;
}

static hr_status_t check_used(rule_t *rule, const char *at) {
  char text[24];
  for (int64_t f = 0; f < rule->factor_count; f++)
    if (!rule->in_operands[f] && !rule->in_results[f])
      return sdy_error(rule->verifier, at, "its sharding rule uses factor %s of size %ld nowhere",
                       factor_text(f, text, sizeof text), (long)rule->sizes[f]);
  return NULL;
}

/* The sizes come after the dimensions, and are read first. */
static hr_status_t read_sizes(rule_t *rule, hr_scan_t *out_rest) {
  hr_scan_t start = rule->scan;
  const char *open = memchr(start.at, '{', (size_t)(start.end - start.at));
  const char *list = open;
  while (list && list > start.at && (list[-1] == ' ' || list[-1] == '\n')) list--;
  /* rules without factors may still have lists: reduction={} */
  bool has_sizes = list && list > start.at && list[-1] == ')';
  rule->scan.at = has_sizes ? open : start.end;
  HR_TRY(HR_NEW_ARRAY(&rule->verifier->scratch, MAX_FACTORS, &rule->sizes));
  HR_TRY(take_sizes(rule));
  *out_rest = rule->scan;
  rule->scan = start;
  if (has_sizes) rule->scan.end = open;
  return NULL;
}

static hr_status_t take_rule(rule_t *rule) {
  static const char *const words[] = {"reduction", "need_replication", "permutation",
                                      "blocked_propagation"};
  const mlir_op_t *op = rule->op;
  hr_arena_t *arena = &rule->verifier->scratch;
  hr_scan_t rest;
  const mlir_value_t **results;
  const char *at = rule->scan.at;
  HR_TRY(HR_NEW_ARRAY(arena, op->result_count + 1, &results));
  for (int i = 0; i < op->result_count; i++) results[i] = &op->results[i];
  HR_TRY(read_sizes(rule, &rest));
  size_t count = (size_t)rule->factor_count + 1;
  HR_TRY(HR_NEW_ARRAY(arena, count, &rule->in_operands));
  HR_TRY(HR_NEW_ARRAY(arena, count, &rule->in_results));
  HR_TRY(HR_NEW_ARRAY(arena, count, &rule->in_value));
  HR_TRY(HR_NEW_ARRAY(arena, count, &rule->is_special));
  HR_TRY(take_values(rule, "operand", op->operand_count, (const mlir_value_t *const *)op->operands,
                     rule->in_operands));
  HR_TRY(hr_scan_want(&rule->scan, "->"));
  HR_TRY(take_values(rule, "result", op->result_count, results, rule->in_results));
  HR_TRY(check_used(rule, at));
  if (rest.at != rest.end) rule->scan = rest;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) HR_TRY(take_special(rule, words[i]));
  if (hr_scan_take(&rule->scan, ",")) HR_TRY(hr_scan_want(&rule->scan, "custom"));
  return hr_scan_is_done(&rule->scan) ? NULL : hr_scan_unexpected(&rule->scan, "its end");
}

hr_status_t sdy_verify_rule(sdy_verifier_t *verifier, const mlir_attr_t *attr) {
  static const char kind[] = "#sdy.op_sharding_rule<";
  sdy_place_t place;
  size_t size = sizeof kind - 1;
  if (attr->text.size < size || memcmp(attr->text.data, kind, size) != 0)
    return sdy_error(verifier, NULL, "sdy.sharding_rule is not #sdy.op_sharding_rule<...>");
  rule_t rule = {.verifier = verifier, .op = verifier->op};
  rule.scan = hr_scan(sdy_attr_text(attr), "sharding rule");
  sdy_place_push(&place, verifier, &rule.scan);
  hr_status_t st = take_rule(&rule);
  sdy_place_pop(&place);
  return st;
}
