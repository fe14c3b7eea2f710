/* How many vectors an iteration computes side by side. Chains of dependent instructions, as
 * elementary functions and random numbers are, leave the processor idle; the chains of several
 * vectors fill it, as long as their values fit the registers. */
#include "jit/element/element_complex.h"
#include "jit/graph/jit_kernel.h"
#include "jit/math/jit_math.h"

#define SHORT_REMAINDER 32 /* vectors in a loop whose remainder takes little of its time */
/* Share of the registers for constants and for parts of functions: of 32, and of 16, for which x64/
 * orders the parts of vectors so that few are live. */
#define RESERVED 0.25
#define RESERVED_OF_16 0.1
#define MASKS 8       /* conditions: as many as registers, and a few that are spilled */
#define LONG_CHAIN 48 /* ops of an element that are a long chain even without functions */
/* Long chains with a division or a root for so many ops wait for the divider, where more vectors
 * help even if some values do not fit the registers: with AVX2 30 steps of Newton's method on cubes
 * take 1.7 times as long with 2 vectors as with 4. */
#define OPS_PER_DIVISION 16
#define VECTORS_OF_DIVISIONS 4
#define SPILLED 0.3 /* share of the registers that chains of divisions may exceed them by */

typedef struct live {
  double vectors, masks;
} live_t;

/* What a value occupies with a vector of `lanes` lanes; constants and what is the same for all
 * elements do not count. */
static live_t size_of(const jit_kernel_t *kernel, const jit_node_t *node, int lanes) {
  if (!node->vars || node->kind == JIT_CONSTANT || node->kind == JIT_INDEX) return (live_t){0};
  if (node->dtype == HR_PRED) return (live_t){.masks = 1};
  double bytes = (double)hr_dtype_bytes(hr_dtype_table[node->dtype].compute);
  return (live_t){.vectors = bytes * lanes / kernel->target->vector_bytes};
}

static void add_live(live_t *sum, live_t size, int sign) {
  sum->vectors += sign * size.vectors;
  sum->masks += sign * size.masks;
}

typedef struct count {
  const jit_kernel_t *kernel;
  int lanes;
  live_t live, most;
} count_t;

/* Computes the node's operands and the node, in the order of the emitter. */
static void count_node(count_t *c, jit_node_t *node) {
  int order[3];
  if (node->count.is_computed) return;
  node->count.is_computed = true;
  jit_node_order(node, order);
  for (int k = 0; k < node->arg_count; k++) count_node(c, node->args[order[k]]);
  add_live(&c->live, size_of(c->kernel, node, c->lanes), 1);
  if (c->live.vectors > c->most.vectors) c->most.vectors = c->live.vectors;
  if (c->live.masks > c->most.masks) c->most.masks = c->live.masks;
  for (int k = 0; k < node->arg_count; k++)
    if (--node->args[k]->count.pending_reads == 0)
      add_live(&c->live, size_of(c->kernel, node->args[k], c->lanes), -1);
}

/* The most that is live at once. */
static live_t most_live(const jit_kernel_t *kernel, int lanes) {
  count_t c = {.kernel = kernel, .lanes = lanes};
  for (jit_node_t *node = kernel->graph->first_made; node; node = node->next_made) {
    node->count.pending_reads = 0;
    node->count.is_computed = false;
  }
  for (jit_node_t *node = kernel->graph->first_made; node; node = node->next_made)
    for (int k = 0; k < node->arg_count; k++) node->args[k]->count.pending_reads++;
  for (jit_node_t *node = kernel->graph->first_made; node; node = node->next_made)
    if (!node->count.pending_reads) count_node(&c, node);
  return c.most;
}

static bool is_of_complex(const jit_node_t *node) {
  return hr_dtype_is_complex(node->dtype) ||
         (node->arg_count && hr_dtype_is_complex(node->args[0]->dtype));
}

/* Most vectors that an op computes together. *out_parts: vectors of `lanes` lanes of its type. */
static int vectors_of(const jit_kernel_t *kernel, const jit_node_t *node, int lanes,
                      int *out_parts) {
  hr_dtype_t compute = hr_dtype_table[node->dtype].compute;
  bool is_of_floats = node->kind == JIT_OP && hr_dtype_is_float(node->dtype);
  bool is_modulus = is_of_floats && node->op == HLO_ABS && is_of_complex(node);
  *out_parts = 1;
  if (!is_of_floats || !(jit_math_supports(node->op) || is_modulus)) return 1;
  int bytes = lanes * (int)hr_dtype_bytes(compute);
  if (bytes > kernel->target->vector_bytes) *out_parts = bytes / kernel->target->vector_bytes;
  return is_modulus ? kernel->target->interleave_count
                    : jit_math_vectors(kernel->target, node->op, compute == HR_F64);
}

/* Is it a function of complex numbers with a branch for special cases? All vectors together take it
 * more often. */
static bool has_branch(const jit_node_t *node) {
  return node->kind == JIT_OP && is_of_complex(node) && node->op != HLO_ABS &&
         jit_complex_is_function(node->op);
}

static bool is_division(const jit_node_t *node) {
  return hr_dtype_is_float(node->dtype) &&
         (node->op == HLO_DIVIDE || node->op == HLO_SQRT || node->op == HLO_RSQRT);
}

/* Vectors of the kernel's lanes that are worth computing together. */
static int wanted_vectors(const jit_kernel_t *kernel, int lanes, bool *out_divides) {
  int most = 1, ops = 0, divisions = 0, parts;
  *out_divides = false;
  for (const jit_node_t *node = kernel->graph->first_made; node; node = node->next_made) {
    int vectors = vectors_of(kernel, node, lanes, &parts);
    if (has_branch(node)) return 1;
    if (vectors / parts > most) most = vectors / parts;
    bool counts = node->kind == JIT_OP && node->vars && !hr_dtype_is_complex(node->dtype);
    ops += counts;
    divisions += counts && is_division(node);
  }
  bool has_few_registers = kernel->target->vector_count < 32;
  *out_divides =
      has_few_registers && ops >= LONG_CHAIN && most == 1 && divisions * OPS_PER_DIVISION >= ops;
  if (*out_divides) return VECTORS_OF_DIVISIONS;
  return ops >= LONG_CHAIN ? kernel->target->interleave_count : most;
}

static bool fits(const jit_kernel_t *kernel, live_t live, int count, bool may_spill) {
  double reserved = kernel->target->vector_count < 32 ? RESERVED_OF_16 : RESERVED;
  double room = may_spill ? 1 + SPILLED : 1 - reserved;
  return live.vectors * count <= room * kernel->target->vector_count && live.masks * count <= MASKS;
}

int jit_kernel_interleaved_lanes(const jit_kernel_t *kernel, int lanes, int64_t size) {
  if (lanes == 1 || kernel->target->interleave_count == 1) return lanes;
  bool divides;
  int count = wanted_vectors(kernel, lanes, &divides);
  live_t live = most_live(kernel, lanes);
  for (; count > 1; count /= 2) {
    int wide = lanes * count;
    bool has_short_remainder = size % wide == 0 || size >= SHORT_REMAINDER * (int64_t)wide;
    if (wide <= JIT_MAX_LANES && has_short_remainder && fits(kernel, live, count, divides))
      return wide;
  }
  return lanes;
}
