/* Elements in lanes, combined in ascending order by a binary tree: of each pair of vectors, then of the last one alone,
 * lanes 2i and 2i + 1 become lane i. The last vector is used as if it was repeated, so that the result ends up in all
 * lanes. */
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

/* Half as many lanes of a and b together, in place of a. `valid` (NULL: all are) is not 0 in the first lanes, which count. */
static void combine_pairs(jit_code_t *code, const jit_reducer_t *reducer, LLVMValueRef *a, LLVMValueRef *b,
                          LLVMValueRef *valid) {
  LLVMValueRef left[JIT_MAX_RESULTS], right[JIT_MAX_RESULTS], kept[JIT_MAX_RESULTS];
  for (int k = 0; k < reducer->count; k++) {
    left[k] = kept[k] = every_second(code, a[k], b[k], 0);
    right[k] = every_second(code, a[k], b[k], 1);
  }
  jit_reducer_apply(code, reducer, left, right);
  for (int k = 0; k < reducer->count; k++) a[k] = left[k];
  if (!*valid) return;
  LLVMValueRef counts = every_second(code, *valid, *valid, 1);
  LLVMValueRef zero = llvm()->ConstNull(llvm()->TypeOf(counts));
  counts = llvm()->BuildICmp(code->builder, LLVMIntNE, counts, zero, "");
  for (int k = 0; k < reducer->count; k++)
    a[k] = jit_element_choose(code, reducer->dtypes[k], counts, left[k], kept[k]);
  *valid = every_second(code, *valid, *valid, 0);
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
      combine_pairs(code, reducer, x[v], x[v + apart], &valid);
  for (int left = lanes; left > 1; left /= 2) combine_pairs(code, reducer, x[0], x[0], &valid);
}
