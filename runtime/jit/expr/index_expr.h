/* Index expressions of generated loops: constant + sum of factor * symbol. A symbol is a loop
 * variable, a number known before the loops start (the start of a dynamic-slice), or a quotient or
 * remainder that could not be simplified. Equal expressions are one object, so that pointers
 * compare. Intervals of values decide which expressions simplify and which bounds need no check.
 * Failures: the first one is kept in jit_exprs_t.failed; functions then return some expression. */
#ifndef JIT_INDEX_EXPR_H
#define JIT_INDEX_EXPR_H

#include <stdbool.h>

#include "base/arena.h"
#include "jit/expr/expr_table.h"

#define JIT_MAX_LOOPS 24
#define JIT_UNIT_LOOP \
  (JIT_MAX_LOOPS -    \
   1) /* variable of the loop over units; results of reductions are known only inside that loop */

typedef struct jit_expr jit_expr_t;

typedef struct jit_term {
  int symbol;
  int64_t factor; /* not 0 */
} jit_term_t;

struct jit_expr {
  int64_t constant;
  int64_t low, high; /* interval of the values, both bounds included */
  uint32_t vars;     /* bit v: depends on loop variable v */
  uint32_t hash;
  int count;
  void *value, *lanes_value;   /* values of the code generator: lane 0's, all lanes' */
  unsigned epoch, lanes_epoch; /* epochs in which the values hold */
  jit_term_t terms[];          /* by ascending symbol */
};

typedef enum jit_symbol_kind {
  JIT_SYMBOL_LOOP,     /* variable number `index` */
  JIT_SYMBOL_START,    /* the integer that `node` computes, limited to low .. high */
  JIT_SYMBOL_QUOTIENT, /* quotient by `divisor` */
  JIT_SYMBOL_REMAINDER,
  JIT_SYMBOL_WITHIN /* value of `of`, specified only where that is in low .. high */
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
  bool is_limited; /* JIT_SYMBOL_WITHIN, or contains such a symbol */
  int weight; /* number of divisions in the symbol's code; nested ones count once per occurrence */
} jit_symbol_t;

typedef struct jit_exprs {
  hr_arena_t *arena;
  hr_status_t failed;
  int symbol_count, symbol_capacity;
  jit_symbol_t *symbols;
  jit_table_t table; /* jit_expr_t */
  /* First loop variable whose split would remove a quotient; -1: none. split_size: size of the
   * inner of its two loops. */
  int split_var;
  int64_t split_size;
} jit_exprs_t;

void jit_exprs_init(jit_exprs_t *exprs, hr_arena_t *arena);

jit_expr_t *jit_expr_constant(jit_exprs_t *exprs, int64_t value);
/* A loop variable with values low .. high. Variables are made before any other symbol, outermost
 * first. */
jit_expr_t *jit_expr_loop(jit_exprs_t *exprs, int64_t low, int64_t high);
jit_expr_t *jit_expr_start(jit_exprs_t *exprs, struct jit_node *node, uint32_t vars, int64_t low,
                           int64_t high);
jit_expr_t *jit_expr_add(jit_exprs_t *exprs, const jit_expr_t *a, const jit_expr_t *b);
jit_expr_t *jit_expr_scale(jit_exprs_t *exprs, const jit_expr_t *a, int64_t factor);
/* a * factor + constant */
jit_expr_t *jit_expr_affine(jit_exprs_t *exprs, const jit_expr_t *a, int64_t factor,
                            int64_t constant);
/* `a` without the term of a symbol. */
jit_expr_t *jit_expr_without(jit_exprs_t *exprs, const jit_expr_t *a, int symbol);
/* Quotient and remainder. Requires: no value of `a` is negative, the divisor is positive. */
jit_expr_t *jit_expr_divide(jit_exprs_t *exprs, const jit_expr_t *a, int64_t divisor);
jit_expr_t *jit_expr_remainder(jit_exprs_t *exprs, const jit_expr_t *a, int64_t divisor);

/* `a`, needed only where its value is in low .. high: divisions of expressions that contain it may
 * simplify. */
jit_expr_t *jit_expr_within(jit_exprs_t *exprs, const jit_expr_t *a, int64_t low, int64_t high);
/* `a` without such limits, as code computes it: equal to `a` where all limits hold. */
const jit_expr_t *jit_expr_open(jit_exprs_t *exprs, const jit_expr_t *a);

/* Factor of a loop variable's own term; 0: there is none. */
int64_t jit_expr_factor(const jit_expr_t *expr, int var);
/* Does the expression depend on the variable through another symbol, not only by a factor? */
bool jit_expr_is_nonaffine(const jit_exprs_t *exprs, const jit_expr_t *expr, int var);

#endif
