/* Index expressions of generated loops: constant + sum of factor * symbol. A symbol is a loop's
 * variable, a number that is known before the loops start (where a dynamic-slice begins), or a
 * quotient or remainder that could not be simplified. Equal expressions are one object, so that
 * pointers compare. Ranges are kept, as they decide what simplifies and which bounds need no check.
 * Failures: the first one is kept in jit_exprs_t.failed; functions then return some expression. */
#ifndef JIT_INDEX_EXPR_H
#define JIT_INDEX_EXPR_H

#include <stdbool.h>

#include "base/arena.h"

#define JIT_MAX_LOOPS 24
#define JIT_UNIT_LOOP \
  (JIT_MAX_LOOPS -    \
   1) /* the variable of the loop over units: reductions are known inside of it only */

typedef struct jit_expr jit_expr_t;

typedef struct jit_term {
  int symbol;
  int64_t factor; /* not 0 */
} jit_term_t;

struct jit_expr {
  int64_t constant;
  int64_t low, high; /* range of its values, both included */
  uint32_t vars;     /* bit v: depends on loop variable v */
  uint32_t hash;
  int count;
  void *value, *lanes_value;   /* values of the code generator: lane 0's, all lanes' */
  unsigned epoch, lanes_epoch; /* for which they are meant */
  jit_expr_t *next;            /* in the table */
  jit_term_t terms[];          /* by rising symbol */
};

typedef enum jit_symbol_kind {
  JIT_SYMBOL_LOOP,     /* variable number `index` */
  JIT_SYMBOL_START,    /* the integer that `node` computes, limited to low .. high */
  JIT_SYMBOL_QUOTIENT, /* quotient by `divisor` */
  JIT_SYMBOL_REMAINDER,
  JIT_SYMBOL_WITHIN /* of, where that is low .. high; what it is elsewhere does not matter */
} jit_symbol_kind_t;

struct jit_node;

typedef struct jit_symbol {
  jit_symbol_kind_t kind;
  int index;
  int64_t low, high;
  uint32_t vars;
  struct jit_node *node;
  const jit_expr_t *of;
  int64_t divisor;
  bool is_limited; /* JIT_SYMBOL_WITHIN, or of such */
  int weight; /* divisions that are written for it, those inside of it again for each place where
                 they stand */
} jit_symbol_t;

typedef struct jit_exprs {
  hr_arena_t *arena;
  hr_status_t failed;
  int symbol_count, symbol_capacity;
  jit_symbol_t *symbols;
  jit_expr_t *table[512];
  /* The first loop variable that would have to be two for a quotient to disappear, and the inner
   * one's size; -1. */
  int split_var;
  int64_t split_size;
} jit_exprs_t;

void jit_exprs_init(jit_exprs_t *exprs, hr_arena_t *arena);

jit_expr_t *jit_expr_constant(jit_exprs_t *exprs, int64_t value);
/* A loop of low .. high. Variables are made in order, outermost first, before any other symbol. */
jit_expr_t *jit_expr_loop(jit_exprs_t *exprs, int64_t low, int64_t high);
jit_expr_t *jit_expr_start(jit_exprs_t *exprs, struct jit_node *node, uint32_t vars, int64_t low,
                           int64_t high);
jit_expr_t *jit_expr_add(jit_exprs_t *exprs, const jit_expr_t *a, const jit_expr_t *b);
jit_expr_t *jit_expr_scale(jit_exprs_t *exprs, const jit_expr_t *a, int64_t factor);
/* a * factor + constant */
jit_expr_t *jit_expr_affine(jit_exprs_t *exprs, const jit_expr_t *a, int64_t factor,
                            int64_t constant);
/* Without the term of a symbol. */
jit_expr_t *jit_expr_without(jit_exprs_t *exprs, const jit_expr_t *a, int symbol);
/* Quotient and remainder of values that are not negative; the divisor is positive. */
jit_expr_t *jit_expr_divide(jit_exprs_t *exprs, const jit_expr_t *a, int64_t divisor);
jit_expr_t *jit_expr_remainder(jit_exprs_t *exprs, const jit_expr_t *a, int64_t divisor);

/* `a`, which is only wanted where it is low .. high: so divisions of what contains it may simplify.
 */
jit_expr_t *jit_expr_within(jit_exprs_t *exprs, const jit_expr_t *a, int64_t low, int64_t high);
/* Without limits, as code computes it: equal to `a` where all of them hold. */
const jit_expr_t *jit_expr_open(jit_exprs_t *exprs, const jit_expr_t *a);

/* The factor of a loop variable where it stands directly; 0: nowhere. */
int64_t jit_expr_factor(const jit_expr_t *expr, int var);
/* Does it depend on the variable in another way than by a factor? */
bool jit_expr_is_nonaffine(const jit_exprs_t *exprs, const jit_expr_t *expr, int var);

#endif
