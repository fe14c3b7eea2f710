/* Elements in lanes, combined in ascending order by a binary tree: of each pair of vectors, then of
 * the last one alone, lanes 2i and 2i + 1 become lane i, until lane 0 is the result. An odd last
 * lane goes up as it is. What is behind the lanes in use does not matter. */
#include "jit/element.h"
#include "jit/reducer.h"

/* Lanes `odd`, odd + 2, odd + 4 ... of `a` and, behind them, of `b`. */
static LLVMValueRef every_second(jit_code_t *code, LLVMValueRef a, LLVMValueRef b, int odd) {
  LLVMTypeRef i32 = llvm()->Int32TypeInContext(code->context);
  LLVMValueRef numbers[64], none = llvm()->GetPoison(llvm()->TypeOf(a));
  int lanes = jit_lanes(llvm()->TypeOf(a)), count = a == b ? lanes : 2 * lanes;
  for (int i = 0; i < lanes; i++) {
    uint64_t from = (uint64_t)((2 * i + odd) % count);
    numbers[i] = llvm()->ConstInt(i32, from, false);
  }
  LLVMValueRef order = llvm()->ConstVector(numbers, (unsigned)lanes);
  return llvm()->BuildShuffleVector(code->builder, a, a == b ? none : b, order, "");
}

/* The first `count` lanes. */
static LLVMValueRef first_lanes(jit_code_t *code, int lanes, int count) {
  LLVMTypeRef i1 = llvm()->Int1TypeInContext(code->context);
  LLVMValueRef bits[64];
  for (int i = 0; i < lanes; i++) bits[i] = llvm()->ConstInt(i1, i < count, false);
  return llvm()->ConstVector(bits, (unsigned)lanes);
}

/* Which pairs have a right element. `left` lanes are in use; 0: those of two vectors. `valid`
 * (NULL: all are) is not 0 in the first lanes, which there are. NULL: all pairs that matter. */
static LLVMValueRef whole_pairs(jit_code_t *code, int lanes, int left, LLVMValueRef valid) {
  LLVMValueRef known = left % 2 ? first_lanes(code, lanes, left / 2) : NULL;
  if (!valid) return known;
  LLVMValueRef there = every_second(code, valid, valid, 1);
  LLVMValueRef zero = llvm()->ConstNull(llvm()->TypeOf(there));
  there = llvm()->BuildICmp(code->builder, LLVMIntNE, there, zero, "");
  return known ? llvm()->BuildAnd(code->builder, there, known, "") : there;
}

/* Pairs of lanes of a and b, combined, in place of a. */
static void combine_pairs(jit_code_t *code, const jit_reducer_t *reducer, int left, LLVMValueRef *a,
                          LLVMValueRef *b, LLVMValueRef *valid) {
  LLVMValueRef even[JIT_MAX_RESULTS], odd[JIT_MAX_RESULTS], kept[JIT_MAX_RESULTS];
  int lanes = jit_element_lanes(reducer->dtypes[0], a[0]);
  for (int k = 0; k < reducer->count; k++) {
    even[k] = kept[k] = every_second(code, a[k], b[k], 0);
    odd[k] = every_second(code, a[k], b[k], 1);
  }
  jit_reducer_apply(code, reducer, even, odd);
  LLVMValueRef whole = whole_pairs(code, lanes, left, *valid);
  for (int k = 0; k < reducer->count; k++) {
    a[k] = even[k];
    if (whole) a[k] = jit_element_choose(code, reducer->dtypes[k], whole, even[k], kept[k]);
  }
  if (*valid) *valid = every_second(code, *valid, *valid, 0);
}

void jit_reducer_tree(jit_code_t *code, const jit_reducer_t *reducer, int vectors,
                      LLVMValueRef (*x)[JIT_MAX_RESULTS], LLVMValueRef mask) {
  int lanes = jit_element_lanes(reducer->dtypes[0], x[0][0]);
  LLVMValueRef valid = NULL;
  if (mask) {
    LLVMTypeRef i32 = llvm()->Int32TypeInContext(code->context);
    LLVMTypeRef type = llvm()->VectorType(i32, (unsigned)lanes);
    valid = llvm()->BuildSExt(code->builder, mask, type, "");
  }
  for (int apart = 1; apart < vectors; apart *= 2)
    for (int v = 0; v + apart < vectors; v += 2 * apart)
      combine_pairs(code, reducer, 0, x[v], x[v + apart], &valid);
  for (int left = lanes; left > 1; left = (left + 1) / 2)
    combine_pairs(code, reducer, left, x[0], x[0], &valid);
}
