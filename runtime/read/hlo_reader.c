/* Life cycle of the reader of HLO text: its stacks and maps. */
#include "read/hlo_reader.h"

hr_status_t read_hlo_init(read_hlo_t *r) {
  enum { SOME = 32 };
  HR_TRY(HR_VEC_RESERVE(&r->ints, SOME));
  HR_TRY(HR_VEC_RESERVE(&r->instrs, SOME));
  HR_TRY(HR_VEC_RESERVE(&r->called, SOME));
  HR_TRY(HR_VEC_RESERVE(&r->attrs, SOME));
  HR_TRY(HR_VEC_RESERVE(&r->shapes, SOME));
  HR_TRY(HR_VEC_RESERVE(&r->pairs, SOME));
  HR_TRY(HR_VEC_RESERVE(&r->nodes, SOME));
  return read_lexer_init(&r->lexer, &r->module->source, r->arena);
}

void read_hlo_deinit(read_hlo_t *r) {
  HR_VEC_FREE(&r->ints);
  HR_VEC_FREE(&r->instrs);
  HR_VEC_FREE(&r->called);
  HR_VEC_FREE(&r->attrs);
  HR_VEC_FREE(&r->shapes);
  HR_VEC_FREE(&r->pairs);
  HR_VEC_FREE(&r->nodes);
  HR_VEC_FREE(&r->anonymous);
  HR_VEC_FREE(&r->generated);
  HR_VEC_FREE(&r->completed);
  hr_map_deinit(&r->computations);
  hr_map_deinit(&r->groups);
}
