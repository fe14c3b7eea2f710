/* Orders of dimensions: the cut that chooses, how orders follow through ops, and that the pass
 * comes to an end. */
#include "ops/rules/verify.h"
#include "passes/layout/layout_propagate.h"
#include "passes/layout/min_cut.h"
#include "passes/passes.h"
#include "tests/lib/faults.h"
#include "tests/lib/read_text.h"
#include "tests/lib/unit.h"

/* ---- the cut ---- */

enum { NODES = 7, COSTS = 16 };

typedef struct cost_entry {
  int from, to;
  double bytes;
} cost_t;

static double cost_of(const cost_t *costs, const bool *sides) {
  double cost = 0;
  for (int i = 0; i < COSTS; i++)
    if (sides[costs[i].from] && !sides[costs[i].to]) cost += costs[i].bytes;
  return cost;
}

/* By trying all choices. */
static double least_cost(const cost_t *costs) {
  double least = 1e9;
  for (unsigned bits = 0; bits < 1u << (NODES - CUT_FIRST); bits++) {
    bool sides[NODES] = {true, false};
    for (int n = CUT_FIRST; n < NODES; n++) sides[n] = bits >> (n - CUT_FIRST) & 1;
    double cost = cost_of(costs, sides);
    if (cost < least) least = cost;
  }
  return least;
}

static void check_cut(hr_arena_t *arena, const cost_t *costs) {
  cut_graph_t graph;
  cut_cost_t cost;
  bool *sides;
  int node;
  CHECK_OK(cut_init(&graph));
  for (int n = CUT_FIRST; n < NODES; n++) CHECK_OK(cut_node_add(&graph, &node));
  for (int i = 0; i < COSTS; i++)
    CHECK_OK(cut_edge_add(&graph, costs[i].from, costs[i].to, costs[i].bytes));
  CHECK_OK(cut_solve(arena, &graph, &sides, &cost));
  CU_ASSERT_EQUAL(cost.total, cost_of(costs, sides));
  CU_ASSERT_EQUAL(cost.total, least_cost(costs));
  cut_deinit(&graph);
}

static void test_cut(void) {
  hr_arena_t arena;
  unsigned seed = 5;
  hr_arena_init(&arena);
  for (int round = 0; round < 200; round++) {
    cost_t costs[COSTS];
    for (int i = 0; i < COSTS; i++) {
      unsigned random[3];
      for (int k = 0; k < 3; k++) random[k] = (seed = seed * 1664525u + 1013904223u) >> 20;
      costs[i] = (cost_t){(int)(random[0] % NODES), (int)(random[1] % NODES), 1 + random[2] % 9};
      if (costs[i].from == costs[i].to || costs[i].from == CUT_SINK || costs[i].to == CUT_SOURCE)
        costs[i] = (cost_t){CUT_SOURCE, CUT_FIRST, 1};
    }
    check_cut(&arena, costs);
  }
  hr_arena_deinit(&arena);
}

/* ---- links ---- */

static const char ops[] =
    "HloModule ops\n\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] "
    "add(a, b)\n}\n\n"
    "ENTRY main {\n  x = f32[2,3,4,5] parameter(0)\n  zero = f32[] constant(0)\n"
    "  split = f32[2,3,2,2,5,1] reshape(x)\n  flat = f32[6,20] reshape(x)\n"
    "  turned = f32[5,2,3,4] transpose(x), dimensions={3,0,1,2}\n"
    "  sums = f32[3,4] reduce(x, zero), dimensions={0,3}, to_apply=sum\n"
    "  wide = f32[3,7,4] broadcast(sums), dimensions={0,2}\n"
    "  ROOT all = (f32[2,3,2,2,5,1], f32[6,20], f32[5,2,3,4], f32[3,7,4]) tuple(split, flat, "
    "turned, wide)\n}\n";

static const hlo_instr_t *find(const hlo_module_t *module, const char *name) {
  for (size_t i = 0; i < module->entry->instrs.count; i++)
    if (hr_str_is(module->entry->instrs.data[i]->name, name)) return module->entry->instrs.data[i];
  return NULL;
}

/* Orders as digits. */
static layout_t order_of(const char *digits) {
  layout_t layout = {.rank = 0};
  while (digits[layout.rank])
    layout.dims[layout.rank] = (int8_t)(digits[layout.rank] - '0'), layout.rank++;
  return layout;
}

static void check_order(bool found, const layout_t *layout, const char *want) {
  char digits[HLO_MAX_RANK + 1] = "";
  for (int d = 0; found && d < layout->rank; d++)
    digits[d] = (char)('0' + layout->dims[d]), digits[d + 1] = 0;
  CU_ASSERT_STRING_EQUAL(digits, want);
}

/* Operand 0 in order `x` goes with the instruction in order `instr`; empty: with none. */
static void check_channel(const hlo_module_t *module, const char *name, const char *x,
                          const char *instr) {
  layout_t from = order_of(x), current;
  const hlo_instr_t *op = find(module, name);
  bool found = layout_from_array(op, 0, &from, &current);
  check_order(found, &current, instr);
  if (!found) return;
  found = layout_of_array(op, 0, &current, &from);
  check_order(found, &from, x);
}

static void test_links(void) {
  hlo_module_t *module = read_valid(ops);
  check_channel(module, "split", "0231", "023451");
  check_channel(module, "flat", "2301", "10");
  check_channel(module, "flat", "0231", "");
  check_channel(module, "turned", "0231", "1302");
  check_channel(module, "wide", "10", "201");
  check_channel(module, "sums", "0231", "0231");
  layout_t layout = order_of("0231"), result;
  check_order(layout_of_array(find(module, "sums"), LAYOUT_RESULT, &layout, &result), &result,
              "10");
  CU_ASSERT_TRUE(layout_is_free(find(module, "zero")));
  CU_ASSERT_FALSE(layout_is_agnostic(find(module, "x")));
  hlo_module_destroy(module);
}

static void test_idle(void) {
  hlo_module_t *module = read_valid(ops);
  const hlo_shape_t *shape = find(module, "split")->shape;
  layout_t straight = order_of("012345"), idle = order_of("501234"), other = order_of("102345"),
           same = order_of("150234");
  CU_ASSERT_TRUE(layout_is_row_major(&straight, shape));
  CU_ASSERT_TRUE(layout_is_row_major(&idle, shape));
  CU_ASSERT_FALSE(layout_is_row_major(&other, shape));
  CU_ASSERT_TRUE(layout_equal(&other, &same, shape));
  CU_ASSERT_FALSE(layout_equal(&other, &straight, shape));
  hlo_module_destroy(module);
}

/* ---- the pass ---- */

static int transposes_in(const hlo_module_t *module) {
  int count = 0;
  for (size_t i = 0; i < module->entry->instrs.count; i++)
    count += module->entry->instrs.data[i]->op == HLO_TRANSPOSE;
  return count;
}

static bool run(hr_status_t (*pass)(hlo_module_t *module, bool *out_changed),
                hlo_module_t *module) {
  bool changed = false;
  CHECK_OK(pass(module, &changed));
  CHECK_OK(hlo_verify(module));
  return changed;
}

/* With a residual connection. */
static const char net[] =
    "HloModule net\n\nENTRY main {\n  x = f32[2,16,8,8] parameter(0)\n  k = f32[16,16,3,3] "
    "parameter(1)\n"
    "  a = f32[2,16,8,8] convolution(x, k), window={size=3x3 pad=1_1x1_1}, "
    "dim_labels=bf01_oi01->bf01\n"
    "  b = f32[2,16,8,8] tanh(a)\n"
    "  c = f32[2,16,8,8] convolution(b, k), window={size=3x3 pad=1_1x1_1}, "
    "dim_labels=bf01_oi01->bf01\n"
    "  d = f32[2,16,8,8] add(b, c)\n"
    "  e = f32[2,16,8,8] convolution(d, k), window={size=3x3 pad=1_1x1_1}, "
    "dim_labels=bf01_oi01->bf01\n"
    "  ROOT f = f32[2,16,8,8] add(e, x)\n}\n";

/* Convolutions turn their input and result themselves; a second look finds nothing to do. */
static void test_end(void) {
  hlo_module_t *module = read_valid(net);
  CU_ASSERT_TRUE(run(pass_layout_assignment, module));
  run(pass_simplify, module);
  run(pass_cse, module);
  CU_ASSERT_EQUAL(transposes_in(module), 0);
  CU_ASSERT_FALSE(run(pass_layout_assignment, module));
  hlo_module_destroy(module);
}

static hr_status_t attempt_orders(size_t n, void *context) {
  hlo_module_t *module = read_valid(context);
  bool changed = false;
  faults_begin(n);
  hr_status_t st = pass_layout_assignment(module, &changed);
  faults_end();
  hlo_module_destroy(module);
  return st;
}

static void test_faults(void) { CU_ASSERT_TRUE(faults_try(attempt_orders, (void *)net) > 1); }

CU_TestInfo suite_layout_assignment[] = {
    {"the cheapest cut", test_cut},          {"orders follow through ops", test_links},
    {"orders that move nothing", test_idle}, {"the pass ends", test_end},
    {"memory runs out", test_faults},        CU_TEST_INFO_NULL};
