/* Orders of dimensions: the cut that chooses, how orders follow through ops, and that the pass comes to an end. */
#include "faults.h"
#include "passes/min_cut.h"
#include "passes/order_links.h"
#include "passes/passes.h"
#include "read_text.h"
#include "unit.h"

/* ---- the cut ---- */

enum { NODES = 7, PRICES = 16 };

typedef struct price {
  int from, to;
  double bytes;
} price_t;

static double cost_of(const price_t *prices, const bool *sides) {
  double cost = 0;
  for (int i = 0; i < PRICES; i++)
    if (sides[prices[i].from] && !sides[prices[i].to]) cost += prices[i].bytes;
  return cost;
}

/* By trying all choices. */
static double least_cost(const price_t *prices) {
  double least = 1e9;
  for (unsigned bits = 0; bits < 1u << (NODES - CUT_FIRST); bits++) {
    bool sides[NODES] = {true, false};
    for (int n = CUT_FIRST; n < NODES; n++) sides[n] = bits >> (n - CUT_FIRST) & 1;
    double cost = cost_of(prices, sides);
    if (cost < least) least = cost;
  }
  return least;
}

static void check_cut(hr_arena_t *arena, const price_t *prices) {
  cut_graph_t graph;
  cut_bill_t bill;
  bool *sides;
  int node;
  CHECK_OK(cut_init(&graph));
  for (int n = CUT_FIRST; n < NODES; n++) CHECK_OK(cut_node_add(&graph, &node));
  for (int i = 0; i < PRICES; i++) CHECK_OK(cut_price_add(&graph, prices[i].from, prices[i].to, prices[i].bytes));
  CHECK_OK(cut_solve(arena, &graph, &sides, &bill));
  CU_ASSERT_EQUAL(bill.paid, cost_of(prices, sides));
  CU_ASSERT_EQUAL(bill.paid, least_cost(prices));
  cut_deinit(&graph);
}

static void test_cut(void) {
  hr_arena_t arena;
  unsigned seed = 5;
  hr_arena_init(&arena);
  for (int round = 0; round < 200; round++) {
    price_t prices[PRICES];
    for (int i = 0; i < PRICES; i++) {
      unsigned random[3];
      for (int k = 0; k < 3; k++) random[k] = (seed = seed * 1664525u + 1013904223u) >> 20;
      prices[i] = (price_t){(int)(random[0] % NODES), (int)(random[1] % NODES), 1 + random[2] % 9};
      if (prices[i].from == prices[i].to || prices[i].from == CUT_SINK || prices[i].to == CUT_SOURCE)
        prices[i] = (price_t){CUT_SOURCE, CUT_FIRST, 1};
    }
    check_cut(&arena, prices);
  }
  hr_arena_deinit(&arena);
}

/* ---- links ---- */

static const char ops[] =
    "HloModule ops\n\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n\n"
    "ENTRY main {\n  x = f32[2,3,4,5] parameter(0)\n  zero = f32[] constant(0)\n"
    "  split = f32[2,3,2,2,5,1] reshape(x)\n  flat = f32[6,20] reshape(x)\n"
    "  turned = f32[5,2,3,4] transpose(x), dimensions={3,0,1,2}\n"
    "  sums = f32[3,4] reduce(x, zero), dimensions={0,3}, to_apply=sum\n"
    "  wide = f32[3,7,4] broadcast(sums), dimensions={0,2}\n"
    "  ROOT all = (f32[2,3,2,2,5,1], f32[6,20], f32[5,2,3,4], f32[3,7,4]) tuple(split, flat, turned, wide)\n}\n";

static const hlo_instr_t *find(const hlo_module_t *module, const char *name) {
  for (size_t i = 0; i < module->entry->instrs.count; i++)
    if (hr_str_is(module->entry->instrs.data[i]->name, name)) return module->entry->instrs.data[i];
  return NULL;
}

/* Orders as digits. */
static order_t order_of(const char *digits) {
  order_t order = {.rank = 0};
  while (digits[order.rank]) order.dims[order.rank] = (int8_t)(digits[order.rank] - '0'), order.rank++;
  return order;
}

static void check_order(bool found, const order_t *order, const char *want) {
  char digits[HLO_MAX_RANK + 1] = "";
  for (int d = 0; found && d < order->rank; d++) digits[d] = (char)('0' + order->dims[d]), digits[d + 1] = 0;
  CU_ASSERT_STRING_EQUAL(digits, want);
}

/* Operand 0 in order `x` goes with the instruction in order `instr`; empty: with none. */
static void check_link(const hlo_module_t *module, const char *name, const char *x, const char *instr) {
  order_t from = order_of(x), own;
  const hlo_instr_t *op = find(module, name);
  bool found = order_above(op, 0, &from, &own);
  check_order(found, &own, instr);
  if (!found) return;
  found = order_below(op, 0, &own, &from);
  check_order(found, &from, x);
}

static void test_links(void) {
  hlo_module_t *module = read_valid(ops);
  check_link(module, "split", "0231", "023451");
  check_link(module, "flat", "2301", "10");
  check_link(module, "flat", "0231", "");
  check_link(module, "turned", "0231", "1302");
  check_link(module, "wide", "10", "201");
  check_link(module, "sums", "0231", "0231");
  order_t order = order_of("0231"), result;
  check_order(order_below(find(module, "sums"), ORDER_RESULT, &order, &result), &result, "10");
  CU_ASSERT_TRUE(order_is_free(find(module, "zero")));
  CU_ASSERT_FALSE(order_is_carried(find(module, "x")));
  hlo_module_destroy(module);
}

static void test_idle(void) {
  hlo_module_t *module = read_valid(ops);
  const hlo_shape_t *shape = find(module, "split")->shape;
  order_t straight = order_of("012345"), idle = order_of("501234"), other = order_of("102345"),
          same = order_of("150234");
  CU_ASSERT_TRUE(order_is_idle(&straight, shape));
  CU_ASSERT_TRUE(order_is_idle(&idle, shape));
  CU_ASSERT_FALSE(order_is_idle(&other, shape));
  CU_ASSERT_TRUE(order_same(&other, &same, shape));
  CU_ASSERT_FALSE(order_same(&other, &straight, shape));
  hlo_module_destroy(module);
}

/* ---- the pass ---- */

static int transposes_in(const hlo_module_t *module) {
  int count = 0;
  for (size_t i = 0; i < module->entry->instrs.count; i++) count += module->entry->instrs.data[i]->op == HLO_TRANSPOSE;
  return count;
}

static bool run(hr_status_t (*pass)(hlo_module_t *module, bool *out_changed), hlo_module_t *module) {
  bool changed = false;
  CHECK_OK(pass(module, &changed));
  CHECK_OK(hlo_verify(module));
  return changed;
}

/* With a residual connection. */
static const char net[] =
    "HloModule net\n\nENTRY main {\n  x = f32[2,16,8,8] parameter(0)\n  k = f32[16,16,3,3] parameter(1)\n"
    "  a = f32[2,16,8,8] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01\n"
    "  b = f32[2,16,8,8] tanh(a)\n"
    "  c = f32[2,16,8,8] convolution(b, k), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01\n"
    "  d = f32[2,16,8,8] add(b, c)\n"
    "  e = f32[2,16,8,8] convolution(d, k), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01\n"
    "  ROOT f = f32[2,16,8,8] add(e, x)\n}\n";

/* Convolutions turn their input and result themselves; a second look finds nothing to do. */
static void test_end(void) {
  hlo_module_t *module = read_valid(net);
  CU_ASSERT_TRUE(run(pass_orders, module));
  run(pass_simplify, module);
  run(pass_cse, module);
  CU_ASSERT_EQUAL(transposes_in(module), 0);
  CU_ASSERT_FALSE(run(pass_orders, module));
  hlo_module_destroy(module);
}

static hr_status_t attempt_orders(size_t n, void *context) {
  hlo_module_t *module = read_valid(context);
  bool changed = false;
  faults_begin(n);
  hr_status_t st = pass_orders(module, &changed);
  faults_end();
  hlo_module_destroy(module);
  return st;
}

static void test_faults(void) { CU_ASSERT_TRUE(faults_try(attempt_orders, (void *)net) > 1); }

CU_TestInfo suite_orders[] = {{"the cheapest cut", test_cut},
                              {"orders follow through ops", test_links},
                              {"orders that move nothing", test_idle},
                              {"the pass ends", test_end},
                              {"memory runs out", test_faults},
                              CU_TEST_INFO_NULL};
