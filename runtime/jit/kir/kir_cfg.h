/* The control flow of a function, and passes on its instructions. */
#ifndef JIT_KIR_CFG_H
#define JIT_KIR_CFG_H

#include "jit/kir/kir.h"

/* Blocks reachable from the entry, in reverse postorder: each before its successors, except for
 * back edges, and a loop's body before its exit. A block's index is its position. */
typedef struct kir_cfg {
  hr_arena_t *arena;
  kir_function_t *function;
  kir_block_t **order;
  int block_count;
  int *depth;        /* loop depth, by block index */
  bool is_malformed; /* a block has no terminator: nothing else is known */
} kir_cfg_t;

hr_status_t kir_cfg_find(hr_arena_t *arena, kir_function_t *function, kir_cfg_t *out_cfg);
int kir_successor_count(const kir_block_t *block);

/* Removes an instruction from its block. */
void kir_unlink(kir_value_t *instr);
/* Replacements of values, by their ids. NULL, or an id from `count` on: not replaced. */
typedef struct kir_replacements {
  kir_value_t **of;
  unsigned count;
} kir_replacements_t;
hr_status_t kir_replacements_init(kir_replacements_t *replacements, const kir_cfg_t *cfg);
kir_value_t *kir_replaced(const kir_replacements_t *replacements, kir_value_t *value);
void kir_replace_operands(const kir_replacements_t *replacements, kir_value_t *instr);
void kir_replace_uses(const kir_replacements_t *replacements, const kir_cfg_t *cfg);

/* Does the result depend on the operands alone, not on memory or on the instruction's position? */
bool kir_is_movable(const kir_value_t *instr);

/* Uses of a value; constants and functions have no entry. */
typedef struct kir_use {
  int count;
  kir_value_t *user; /* one of them */
  bool is_live;      /* the value has a side effect, or an instruction with one needs it */
} kir_use_t;

/* *out_uses: uses by id. */
hr_status_t kir_find_uses(const kir_cfg_t *cfg, kir_use_t **out_uses);

/* Register classes of a back end, for passes that lengthen or shorten live ranges. */
typedef struct kir_register_classes {
  int (*class_of)(const kir_type_t *type);
  const int *hoisted_max; /* by class: most values hoisted out of a loop; more would be spilled
                             inside it */
  int sunk_class;         /* class of the values that are sunk */
} kir_register_classes_t;

/* Common subexpression elimination and loop-invariant code motion. Loads are reused while the block
 * writes no memory. */
hr_status_t kir_cse_licm(const kir_cfg_t *cfg, const kir_register_classes_t *classes);
/* Sinks instructions of a class to right before their first use in the block, and drops dead ones.
 */
hr_status_t kir_sink(const kir_cfg_t *cfg, const kir_register_classes_t *classes,
                     const kir_use_t *uses);

#endif
