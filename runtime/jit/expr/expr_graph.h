/* The computation of one element by a kernel, as a graph of scalar formulas: arrays appear only as
 * loads at computed indices. Equal nodes are one object, so that a value needed twice at the same
 * index is computed once. Failures: the first one is kept in jit_graph_t.failed, also that of index
 * expressions; functions then return a node. A graph lives in the arena it was made with. */
#ifndef JIT_EXPR_GRAPH_H
#define JIT_EXPR_GRAPH_H

#include "base/arith.h"
#include "ir/module.h"
#include "jit/expr/index_expr.h"

/* Arrays of fewer elements may be registers of a region, which have one type in all its kernels. */
#define JIT_MEMORY_LEAST 256

typedef enum jit_node_kind {
  JIT_LOAD,     /* element `expr` of buffer number `number`, where `guard` */
  JIT_CONSTANT, /* the element at `bytes` */
  JIT_INDEX,    /* `expr` as a number */
  JIT_OP,       /* `op` on args; `detail` has the attributes that matter */
  JIT_RANGE,    /* low <= expr < high */
  JIT_MULTIPLE, /* low divides expr */
  JIT_LEAF      /* result `number` of reduction `instr`, provided by the kernel */
} jit_node_kind_t;

struct kir_value;

/* An instruction that the emitter wrote for a node. It may be used again as long as the epoch of
 * its level has not changed (emit_kernel.h, jit_level_t). */
typedef struct jit_emitted {
  struct kir_value *value;
  unsigned epoch;
} jit_emitted_t;

/* A node of type pred as the condition of a load: the two members of a jit_guard_t. */
typedef struct jit_emitted_guard {
  struct kir_value *all;   /* condition shared by all lanes; NULL: always true */
  struct kir_value *lanes; /* condition of each lane; NULL: always true */
  unsigned epoch;
} jit_emitted_guard_t;

typedef struct jit_node jit_node_t;
struct jit_node {
  /* Meaning: nodes that agree in these members are one object. */
  jit_node_kind_t kind;
  hlo_opcode_t op;
  hr_dtype_t dtype;
  int number;     /* buffer of a LOAD, result of a LEAF */
  int arg_count;  /* arguments of an OP, at most 3 */
  int64_t low;    /* bound of a RANGE, included; divisor of a MULTIPLE */
  int64_t high;   /* bound of a RANGE, excluded */
  int64_t detail; /* attributes of an OP (jit_op_detail) */
  const jit_expr_t *expr;
  const void *bytes;        /* element of a CONSTANT */
  const hlo_instr_t *instr; /* reduction of a LEAF */
  jit_node_t *guard;        /* condition of a LOAD, of type pred; NULL: always true */
  jit_node_t *args[3];
  /* Derived when the node is made. */
  uint32_t vars; /* bit set of the loop variables that the value depends on */
  int uses;      /* nodes that have it as an argument */
  int registers; /* least number of registers that its computation needs (Ershov number) */
  uint32_t hash;
  jit_node_t *next_made; /* next node in order of creation: operands precede users */
  /* Analyses. */
  bool is_expensive; /* the node with its operands is worth saving between passes */
  bool
      is_computed; /* an arithmetic op reads or makes the value: more than moves (narrow_moves.c) */
  struct {
    int pending_reads;
    bool is_computed;
  } count;               /* kernel_interleave.c */
  struct jit_band *band; /* loads of neighbouring columns, read together (emit_transpose.c) */
  struct {
    int end_pass;   /* pass after the last one that reads the value; 0: none */
    int pass;       /* pass over a row in which the value is computed */
    int first_pass; /* first pass in which it can be computed */
    int slot;       /* index among the values saved between passes; -1: not saved */
  } reduce;         /* kInput (kernel_reduce.c, kernel_rows_plan.c) */
  struct {
    int64_t distance; /* bytes between the load and its software prefetch; 0: no prefetch */
    int pass;         /* kInput: pass that prefetches */
  } prefetch;         /* LOAD */
  struct {
    int height;            /* transcendental ops on the longest path to a load */
    struct jit_pack *pack; /* equal ops computed in the lanes of one vector; NULL: none */
  } slp;                   /* emit_slp.c */
  /* Memos of the emitter. */
  jit_emitted_t scalar; /* value of lane 0, or of all lanes where they agree */
  jit_emitted_t vector; /* value of each lane */
  jit_emitted_t tile;   /* transposed tile in memory (kernel_tile.c) */
  jit_emitted_guard_t condition;
};

/* Places of the node's arguments in the order in which code computes them. */
void jit_node_order(const jit_node_t *node, int order[3]);

/* Attributes of an op on elements, as element.h encodes them: `detail` of a JIT_OP. */
int64_t jit_op_detail(const hlo_instr_t *instr);

typedef struct jit_index { /* index of an element of an array; either member may be NULL and is then
                              derived from the other */
  const jit_expr_t *linear;
  const jit_expr_t *const *dims;
} jit_index_t;

/* An array that is read. */
typedef struct jit_buffer {
  int param; /* number of the body's parameter; -1: */
  const hlo_value_t *literal;
} jit_buffer_t;

typedef struct jit_buffer_list {
  int count;
  jit_buffer_t *items;
} jit_buffer_list_t;

/* Are all elements the same? Such constants are part of the code. */
bool jit_is_one_value(const hlo_value_t *value);

typedef struct jit_graph {
  hr_arena_t *arena;
  jit_exprs_t exprs;
  hr_status_t failed;
  const hlo_computation_t *body;
  /* kInput: indices at which results of reductions are available */
  const jit_expr_t *const *outer;
  int outer_count;
  bool writes_sums_out; /* kInput with few terms, planned as a kLoop: reductions are expanded into
                           formulas of all terms */
  int buffer_count;     /* arrays that are read, numbered by first use */
  jit_buffer_t *buffers;
  int node_count, node_limit;
  unsigned last_epoch; /* last epoch in use; each emission takes new epochs */
  jit_node_t *first_made, **last_made;
  jit_table_t nodes; /* jit_node_t */
  jit_table_t memos; /* jit_memo_t: elements whose nodes were made */
} jit_graph_t;

/* Beyond `node_limit` nodes the graph fails with UNSUPPORTED. */
hr_status_t jit_graph_init(jit_graph_t *graph, hr_arena_t *arena, const hlo_computation_t *body,
                           int node_limit);
/* Number of elements of an array that is read. */
int64_t jit_buffer_count(const jit_graph_t *graph, int number);
/* Returns the first failure, which the caller then owns. */
hr_status_t jit_graph_take_failure(jit_graph_t *graph);

/* Element `index` of an array that the body computes; of a reduction: of result `number`. The
 * element is needed only where `guard` holds (NULL: everywhere). */
jit_node_t *jit_graph_at(jit_graph_t *graph, const hlo_instr_t *instr, int number,
                         jit_index_t index, jit_node_t *guard);
/* The bits of element `linear` of a parameter, seen through ops that keep the order of elements, as
 * an integer `type` of the element's size. NULL: the instruction is no parameter, or one of few
 * elements, whose array may be registers of one type. */
jit_node_t *jit_graph_bits_at(jit_graph_t *graph, const hlo_instr_t *instr,
                              const jit_expr_t *linear, hr_dtype_t type);
/* Results of a computation on scalars. */
void jit_graph_apply(jit_graph_t *graph, const hlo_computation_t *computation,
                     jit_node_t *const *args, int result_count, jit_node_t **out_results);
/* Index in the whole array at which an update writes its element `index`. */
const jit_expr_t *jit_graph_update_index(jit_graph_t *graph, const hlo_instr_t *update,
                                         jit_index_t index);

const jit_expr_t *jit_index_linear(jit_graph_t *graph, const hlo_shape_t *shape, jit_index_t index);
const jit_expr_t *const *jit_index_dims(jit_graph_t *graph, const hlo_shape_t *shape,
                                        jit_index_t index);

/* Constructors of nodes, for the files of this folder only. */
jit_node_t *jit_node_make(jit_graph_t *graph, const jit_node_t *like);
jit_node_t *jit_node_op(jit_graph_t *graph, hlo_opcode_t op, hr_dtype_t dtype, int64_t detail,
                        int count, jit_node_t *const *args);
/* The condition low <= expr < high. NULL: constant; then *out_never says whether it is always
 * false. */
jit_node_t *jit_node_range(jit_graph_t *graph, const jit_expr_t *expr, int64_t low, int64_t high,
                           bool *out_never);
jit_node_t *jit_node_both(jit_graph_t *graph, jit_node_t *a,
                          jit_node_t *b); /* either may be NULL */
/* Keeps the first failure of the graph; takes ownership of the status. */
void jit_graph_keep_failure(jit_graph_t *graph, hr_status_t st);
/* Stands for a node that could not be made; the graph has failed. */
jit_node_t *jit_node_of_failure(void);
/* Result `number` of a reduction of few terms, written out. */
jit_node_t *jit_expanded_reduction_at(jit_graph_t *graph, const hlo_instr_t *instr, int number,
                                      jit_index_t index, jit_node_t *guard);
/* Element of an op that moves data (CODEGEN_INDEX): an element of an operand. */
jit_node_t *jit_graph_moved(jit_graph_t *graph, const hlo_instr_t *instr, jit_index_t index,
                            jit_node_t *guard);

/* Is it a float from 0 to 1, or NaN, by its op: e^-|x| or a logistic function? */
bool jit_node_is_unit(const jit_node_t *node);

/* Cost of a node for one element, in units of an addition of f32 in a vector. */
double jit_node_cost(const jit_node_t *node);

#endif
