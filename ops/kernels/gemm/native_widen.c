/* Conversion between an operand's type and the type that products are computed in, divided among
 * the workers of a native kernel. Floats to f32, the most frequent case, have loops of their own in
 * base/dtype.h; all others are those of the reference kernels. */
#include "ops/kernels/gemm/native_widen.h"

#define GRAIN 16384 /* elements of a task: a few microseconds */

typedef struct conversion {
  const matmul_types_t *types;
  hr_dtype_t dtype;
  const char *from;
  char *to;
} conversion_t;

static void widen_part(void *context, int64_t begin, int64_t end, int worker) {
  const conversion_t *c = context;
  const char *from = c->from + begin * (int64_t)hr_dtype_bytes(c->dtype);
  char *to = c->to + begin * c->types->element_bytes;
  (void)worker;
  if (c->types->real == HR_F32 && hr_dtype_is_float(c->dtype) && !c->types->is_complex)
    hr_floats_to_f32(c->dtype, from, (float *)to, end - begin);
  else
    matmul_widen_to(c->types, c->dtype, from, end - begin, to);
}

void native_widen(hr_workers_t *workers, const matmul_types_t *types, hr_dtype_t dtype,
                  const void *from, int64_t count, void *to) {
  conversion_t conversion = {types, dtype, from, to};
  hr_workers_split(workers, count, GRAIN, widen_part, &conversion);
}

static void narrow_part(void *context, int64_t begin, int64_t end, int worker) {
  const conversion_t *c = context;
  (void)worker;
  matmul_narrow(c->types, (char *)c->from + begin * c->types->element_bytes,
                c->to + begin * (int64_t)hr_dtype_bytes(c->types->out), end - begin);
}

void native_narrow(hr_workers_t *workers, const matmul_types_t *types, void *from, int64_t count,
                   void *to) {
  conversion_t conversion = {types, types->out, from, to};
  hr_workers_split(workers, count, GRAIN, narrow_part, &conversion);
}
