/* Index expressions in normal form: constant + sum of factor * symbol, terms by rising symbol.
 *
 * The form is canonical, and expressions are hash-consed, so that equality is equality of
 * pointers. Each expression carries its interval [low, high] and the set of loop variables it
 * depends on. Division and remainder by a constant d simplify as far as intervals prove it:
 *
 *     a = d * q + r with 0 <= r < d          a / d = q,  a % d = r
 *     a = g * u + l with 0 <= l < g, g | d   a / d = u / (d / g),  a % d = g * (u % (d / g)) + l
 *     d * (a / d) + a % d                    a
 *
 * Whatever remains becomes a quotient or remainder symbol. If a loop variable, split in two,
 * would make it disappear, split_var asks for that, and the loop nest is built again
 * (loop_nest.c). Dividends are not negative, and all values fit in 64 bits: the sizes of arrays
 * guarantee that. */
#include "jit/expr/index_expr.h"

#include <string.h>

#include "base/arith.h"

#define WEIGHT_MAX 256

void jit_exprs_init(jit_exprs_t *exprs, hr_arena_t *arena) {
  memset(exprs, 0, sizeof *exprs);
  exprs->arena = arena;
  exprs->split_var = -1;
}

static void keep_failure(jit_exprs_t *exprs, hr_status_t st) {
  if (exprs->failed)
    hr_status_release(st);
  else
    exprs->failed = st;
}

/* returned after a failure */
static jit_expr_t error_expr;

/* --- construction ----------------------------------------------------------------------------- */

/* Terms are in order of their symbols, so equal sums have equal hashes. */
static uint32_t hash_terms(int64_t constant, int count, const jit_term_t *terms) {
  uint64_t hash = (uint64_t)constant * 0x9e3779b97f4a7c15u;
  for (int i = 0; i < count; i++) {
    hash = (hash ^ (uint64_t)terms[i].symbol) * 0xff51afd7ed558ccdu;
    hash = (hash ^ hash >> 29 ^ (uint64_t)terms[i].factor) * 0xc4ceb9fe1a85ec53u;
  }
  return (uint32_t)(hash >> 32);
}

/* Interval arithmetic, term by term. */
static void set_range(const jit_exprs_t *exprs, jit_expr_t *expr) {
  expr->high = expr->constant;
  expr->low = expr->high;
  for (int i = 0; i < expr->count; i++) {
    const jit_symbol_t *symbol = &exprs->symbols[expr->terms[i].symbol];
    int64_t factor = expr->terms[i].factor;
    expr->low += factor * (factor > 0 ? symbol->low : symbol->high);
    expr->high += factor * (factor > 0 ? symbol->high : symbol->low);
    expr->vars |= symbol->vars;
  }
}

/* Compares members one by one: padding bytes are not set. */
static bool are_equal_terms(int count, const jit_term_t *a, const jit_term_t *b) {
  for (int i = 0; i < count; i++)
    if (a[i].symbol != b[i].symbol || a[i].factor != b[i].factor) return false;
  return true;
}

/* Returns the one expression of this value. */
static jit_expr_t *intern_expr(jit_exprs_t *exprs, int64_t constant, int count,
                               const jit_term_t *terms) {
  uint32_t hash = hash_terms(constant, count, terms);
  jit_expr_t *expr;
  size_t term_bytes = (size_t)count * sizeof *terms;
  for (uint32_t at = hash; (expr = jit_table_next(&exprs->table, hash, &at));)
    if (expr->constant == constant && expr->count == count &&
        are_equal_terms(count, expr->terms, terms))
      return expr;
  hr_status_t st = hr_arena_zeroed(exprs->arena, sizeof *expr + term_bytes, (void **)&expr);
  if (!st) st = jit_table_add(&exprs->table, exprs->arena, hash, expr);
  if (st) {
    keep_failure(exprs, st);
    return &error_expr;
  }
  expr->constant = constant;
  expr->count = count;
  expr->hash = hash;
  if (count) memcpy(expr->terms, terms, term_bytes);
  set_range(exprs, expr);
  return expr;
}

static hr_status_t grow_symbols(jit_exprs_t *exprs) {
  jit_symbol_t *grown;
  int capacity = exprs->symbol_capacity ? 2 * exprs->symbol_capacity : 32;
  HR_TRY(HR_NEW_ARRAY(exprs->arena, capacity, &grown));
  if (exprs->symbol_count)
    memcpy(grown, exprs->symbols, (size_t)exprs->symbol_count * sizeof *grown);
  exprs->symbols = grown;
  exprs->symbol_capacity = capacity;
  return NULL;
}

static bool same_symbol(const jit_symbol_t *a, const jit_symbol_t *b) {
  return a->kind == b->kind && a->kind != JIT_SYMBOL_LOOP && a->node == b->node && a->of == b->of &&
         a->divisor == b->divisor && a->low == b->low && a->high == b->high;
}

/* The code of nested expressions grows with each level, so its divisions are limited. */
static void compute_weight(jit_exprs_t *exprs, jit_symbol_t *symbol) {
  if (!symbol->of) return;
  symbol->weight = symbol->kind != JIT_SYMBOL_WITHIN;
  for (int i = 0; i < symbol->of->count; i++)
    symbol->weight += exprs->symbols[symbol->of->terms[i].symbol].weight;
  if (symbol->weight <= WEIGHT_MAX) return;
  symbol->weight = WEIGHT_MAX;
  keep_failure(exprs, hr_error(HR_UNSUPPORTED, "an index of more than %d divisions", WEIGHT_MAX));
}

static bool has_limits(const jit_exprs_t *exprs, const jit_expr_t *expr) {
  for (int i = 0; i < expr->count; i++)
    if (exprs->symbols[expr->terms[i].symbol].is_limited) return true;
  return false;
}

/* Linear search: a fusion has few symbols. */
static jit_expr_t *expr_of_symbol(jit_exprs_t *exprs, const jit_symbol_t *symbol) {
  int number = 0;
  while (number < exprs->symbol_count && !same_symbol(&exprs->symbols[number], symbol)) number++;
  if (number == exprs->symbol_count) {
    hr_status_t st = number == exprs->symbol_capacity ? grow_symbols(exprs) : NULL;
    if (st) {
      keep_failure(exprs, st);
      return &error_expr;
    }
    exprs->symbols[exprs->symbol_count] = *symbol;
    compute_weight(exprs, &exprs->symbols[exprs->symbol_count++]);
  }
  return intern_expr(exprs, 0, 1, &(jit_term_t){number, 1});
}

jit_expr_t *jit_expr_constant(jit_exprs_t *exprs, int64_t value) {
  return intern_expr(exprs, value, 0, NULL);
}

/* A new loop variable with values low .. high. */
jit_expr_t *jit_expr_loop(jit_exprs_t *exprs, int64_t low, int64_t high) {
  int index = exprs->symbol_count;
  jit_symbol_t symbol = {
      .kind = JIT_SYMBOL_LOOP, .index = index, .low = low, .high = high, .vars = 1u << index};
  return expr_of_symbol(exprs, &symbol);
}

/* A start index that is computed at run time and clamped to low .. high. */
jit_expr_t *jit_expr_start(jit_exprs_t *exprs, struct jit_node *node, uint32_t vars, int64_t low,
                           int64_t high) {
  if (low == high) return jit_expr_constant(exprs, low);
  return expr_of_symbol(
      exprs, &(jit_symbol_t){
                 .kind = JIT_SYMBOL_START, .node = node, .vars = vars, .low = low, .high = high});
}

/* --- sums ------------------------------------------------------------------------------------- */

enum { TERMS_MAX = 64 };

typedef struct sum {
  int64_t constant;
  int count;
  jit_term_t terms[TERMS_MAX];
} sum_t;

/* Keeps terms sorted; a factor that becomes 0 removes its term. */
static void sum_add_term(jit_exprs_t *exprs, sum_t *sum, int symbol, int64_t factor) {
  int at = 0;
  while (at < sum->count && sum->terms[at].symbol < symbol) at++;
  bool found = at < sum->count && sum->terms[at].symbol == symbol;
  if (found && (sum->terms[at].factor += factor) != 0) return;
  if (found) {
    sum->count--;
    memmove(&sum->terms[at], &sum->terms[at + 1], (size_t)(sum->count - at) * sizeof *sum->terms);
  } else if (sum->count == TERMS_MAX) {
    keep_failure(exprs, hr_error(HR_UNSUPPORTED, "an index of more than %d terms", TERMS_MAX));
  } else {
    memmove(&sum->terms[at + 1], &sum->terms[at], (size_t)(sum->count - at) * sizeof *sum->terms);
    sum->terms[at] = (jit_term_t){symbol, factor};
    sum->count++;
  }
}

static void sum_add(jit_exprs_t *exprs, sum_t *sum, const jit_expr_t *expr, int64_t factor) {
  sum->constant += expr->constant * factor;
  for (int i = 0; i < expr->count; i++)
    sum_add_term(exprs, sum, expr->terms[i].symbol, expr->terms[i].factor * factor);
}

/* f * d * (x / d) + f * (x % d) is f * x. */
static bool cancel_division(jit_exprs_t *exprs, sum_t *sum) {
  for (int i = 0; i < sum->count; i++) {
    const jit_symbol_t rest = exprs->symbols[sum->terms[i].symbol];
    if (rest.kind != JIT_SYMBOL_REMAINDER) continue;
    int64_t factor = sum->terms[i].factor;
    for (int j = 0; j < sum->count; j++) {
      const jit_symbol_t *whole = &exprs->symbols[sum->terms[j].symbol];
      if (whole->kind != JIT_SYMBOL_QUOTIENT || whole->of != rest.of ||
          whole->divisor != rest.divisor || sum->terms[j].factor != factor * rest.divisor)
        continue;
      int quotient = sum->terms[j].symbol, remainder = sum->terms[i].symbol;
      sum_add_term(exprs, sum, quotient, -factor * rest.divisor);
      sum_add_term(exprs, sum, remainder, -factor);
      sum_add(exprs, sum, rest.of, factor);
      return true;
    }
  }
  return false;
}

static jit_expr_t *sum_done(jit_exprs_t *exprs, sum_t *sum) {
  while (cancel_division(exprs, sum)) continue;
  return intern_expr(exprs, sum->constant, sum->count, sum->terms);
}

jit_expr_t *jit_expr_add(jit_exprs_t *exprs, const jit_expr_t *a, const jit_expr_t *b) {
  sum_t sum = {.count = 0};
  sum_add(exprs, &sum, a, 1);
  sum_add(exprs, &sum, b, 1);
  return sum_done(exprs, &sum);
}

jit_expr_t *jit_expr_affine(jit_exprs_t *exprs, const jit_expr_t *a, int64_t factor,
                            int64_t constant) {
  sum_t sum = {.constant = constant};
  if (factor) sum_add(exprs, &sum, a, factor);
  return intern_expr(exprs, sum.constant, sum.count, sum.terms);
}

jit_expr_t *jit_expr_scale(jit_exprs_t *exprs, const jit_expr_t *a, int64_t factor) {
  return jit_expr_affine(exprs, a, factor, 0);
}

jit_expr_t *jit_expr_without(jit_exprs_t *exprs, const jit_expr_t *a, int symbol) {
  sum_t sum = {.constant = a->constant};
  for (int i = 0; i < a->count; i++)
    if (a->terms[i].symbol != symbol)
      sum_add_term(exprs, &sum, a->terms[i].symbol, a->terms[i].factor);
  return intern_expr(exprs, sum.constant, sum.count, sum.terms);
}

/* --- quotients -------------------------------------------------------------------------------- */

/* a = whole * divisor + rest; `whole` takes all terms that the divisor divides. */
static void split_divisible(jit_exprs_t *exprs, const jit_expr_t *a, int64_t divisor,
                            jit_expr_t **out_whole, jit_expr_t **out_rest) {
  int64_t floor = a->constant / divisor - (a->constant % divisor < 0);
  sum_t whole = {.constant = floor}, rest = {.constant = a->constant - floor * divisor};
  for (int i = 0; i < a->count; i++) {
    const jit_term_t *term = &a->terms[i];
    if (term->factor % divisor == 0)
      sum_add_term(exprs, &whole, term->symbol, term->factor / divisor);
    else
      sum_add_term(exprs, &rest, term->symbol, term->factor);
  }
  *out_whole = intern_expr(exprs, whole.constant, whole.count, whole.terms);
  *out_rest = sum_done(exprs, &rest);
}

/* Separates small terms of `a`, which never carry into its large ones: a = g * upper + lower, 0 <=
 * lower < g, g dividing the divisor. Tries each factor's common divisor with the divisor as g,
 * largest first. False: no such g > 1. */
static bool split_small_terms(jit_exprs_t *exprs, const jit_expr_t *a, int64_t divisor,
                              int64_t *out_g, jit_expr_t **out_upper, jit_expr_t **out_lower) {
  int64_t best = 1;
  for (int i = 0; i < a->count; i++) {
    int64_t g = hr_gcd(divisor, a->terms[i].factor);
    if (g <= best) continue;
    jit_expr_t *upper, *lower;
    split_divisible(exprs, a, g, &upper, &lower);
    if (lower->low < 0 || lower->high >= g || !upper->count) continue;
    best = g;
    *out_upper = upper;
    *out_lower = lower;
  }
  *out_g = best;
  return best > 1;
}

/* Remembers the first loop whose variable is divided by a divisor of its size: splitting that
 * loop makes the division disappear, and the nest is built again. */
static void request_split(jit_exprs_t *exprs, const jit_expr_t *a, int64_t divisor) {
  if (exprs->split_var >= 0 || a->count != 1 || a->constant || a->terms[0].factor != 1) return;
  const jit_symbol_t *symbol = &exprs->symbols[a->terms[0].symbol];
  if (symbol->kind != JIT_SYMBOL_LOOP || symbol->low || (symbol->high + 1) % divisor) return;
  exprs->split_var = symbol->index;
  exprs->split_size = divisor;
}

static jit_expr_t *build_quotient(jit_exprs_t *exprs, const jit_expr_t *a, int64_t divisor) {
  request_split(exprs, a, divisor);
  jit_symbol_t symbol = {.kind = JIT_SYMBOL_QUOTIENT,
                         .of = a,
                         .divisor = divisor,
                         .vars = a->vars,
                         .is_limited = has_limits(exprs, a),
                         .low = a->low < 0 ? 0 : a->low / divisor,
                         .high = a->high < 0 ? 0 : a->high / divisor};
  return expr_of_symbol(exprs, &symbol);
}

static jit_expr_t *build_remainder(jit_exprs_t *exprs, const jit_expr_t *a, int64_t divisor) {
  request_split(exprs, a, divisor);
  jit_symbol_t symbol = {.kind = JIT_SYMBOL_REMAINDER,
                         .of = a,
                         .divisor = divisor,
                         .vars = a->vars,
                         .is_limited = has_limits(exprs, a),
                         .low = 0,
                         .high = divisor - 1};
  return expr_of_symbol(exprs, &symbol);
}

jit_expr_t *jit_expr_divide(jit_exprs_t *exprs, const jit_expr_t *a, int64_t divisor) {
  jit_expr_t *whole, *rest, *upper, *lower;
  int64_t g;
  if (divisor == 1) return intern_expr(exprs, a->constant, a->count, a->terms);
  split_divisible(exprs, a, divisor, &whole, &rest);
  if (rest->low >= 0 && rest->high < divisor) return whole;
  if (rest->low < 0) return build_quotient(exprs, a, divisor);
  if (split_small_terms(exprs, rest, divisor, &g, &upper, &lower))
    return jit_expr_add(exprs, whole, jit_expr_divide(exprs, upper, divisor / g));
  return jit_expr_add(exprs, whole, build_quotient(exprs, rest, divisor));
}

jit_expr_t *jit_expr_remainder(jit_exprs_t *exprs, const jit_expr_t *a, int64_t divisor) {
  jit_expr_t *whole, *rest, *upper, *lower;
  int64_t g;
  if (divisor == 1) return jit_expr_constant(exprs, 0);
  split_divisible(exprs, a, divisor, &whole, &rest);
  if (rest->low >= 0 && rest->high < divisor) return rest;
  if (rest->low < 0) return build_remainder(exprs, a, divisor);
  if (!split_small_terms(exprs, rest, divisor, &g, &upper, &lower))
    return build_remainder(exprs, rest, divisor);
  if (g == divisor) return lower;
  return jit_expr_add(exprs, lower,
                      jit_expr_scale(exprs, jit_expr_remainder(exprs, upper, divisor / g), g));
}

/* --- limited values --------------------------------------------------------------------------- */

jit_expr_t *jit_expr_within(jit_exprs_t *exprs, const jit_expr_t *a, int64_t low, int64_t high) {
  if (a->low >= low && a->high <= high) return intern_expr(exprs, a->constant, a->count, a->terms);
  if (low == high) return jit_expr_constant(exprs, low);
  jit_symbol_t symbol = {.kind = JIT_SYMBOL_WITHIN,
                         .of = a,
                         .vars = a->vars,
                         .is_limited = true,
                         .low = a->low < low ? low : a->low,
                         .high = a->high > high ? high : a->high};
  return expr_of_symbol(exprs, &symbol);
}

static const jit_expr_t *open_symbol(jit_exprs_t *exprs, const jit_symbol_t *symbol) {
  const jit_expr_t *of = jit_expr_open(exprs, symbol->of);
  switch (symbol->kind) {
    case JIT_SYMBOL_QUOTIENT:
      return jit_expr_divide(exprs, of, symbol->divisor);
    case JIT_SYMBOL_REMAINDER:
      return jit_expr_remainder(exprs, of, symbol->divisor);
    default:
      return of;
  }
}

const jit_expr_t *jit_expr_open(jit_exprs_t *exprs, const jit_expr_t *a) {
  sum_t sum = {.constant = a->constant};
  bool is_limited = false;
  for (int i = 0; i < a->count; i++) {
    const jit_symbol_t symbol = exprs->symbols[a->terms[i].symbol];
    is_limited |= symbol.is_limited;
    if (symbol.is_limited)
      sum_add(exprs, &sum, open_symbol(exprs, &symbol), a->terms[i].factor);
    else
      sum_add_term(exprs, &sum, a->terms[i].symbol, a->terms[i].factor);
  }
  return is_limited ? sum_done(exprs, &sum) : a;
}

/* --- queries ---------------------------------------------------------------------------------- */

int64_t jit_expr_factor(const jit_expr_t *expr, int var) {
  for (int i = 0; i < expr->count; i++)
    if (expr->terms[i].symbol == var) return expr->terms[i].factor;
  return 0;
}

bool jit_expr_is_nonaffine(const jit_exprs_t *exprs, const jit_expr_t *expr, int var) {
  for (int i = 0; i < expr->count; i++) {
    const jit_symbol_t *symbol = &exprs->symbols[expr->terms[i].symbol];
    if (symbol->kind != JIT_SYMBOL_LOOP && symbol->vars >> var & 1) return true;
  }
  return false;
}
