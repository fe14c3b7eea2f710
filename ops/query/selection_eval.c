#include "ops/query/selection_eval.h"

static bool compared(int direction, double a, double b) {
  switch (direction) {
    case HLO_DIRECTION_EQ:
      return a == b;
    case HLO_DIRECTION_NE:
      return a != b;
    case HLO_DIRECTION_GE:
      return a >= b;
    case HLO_DIRECTION_GT:
      return a > b;
    case HLO_DIRECTION_LE:
      return a <= b;
    default:
      return a < b;
  }
}

double selection_eval(const hlo_instr_t *instr, int direction, const double *args,
                      const double *results) {
  double x[3] = {0};
  for (int k = 0; k < instr->operand_count && k < 3; k++) x[k] = results[instr->operands[k]->id];
  switch (instr->op) {
    case HLO_PARAMETER:
      return args[hlo_parameter_number(instr)];
    case HLO_CONSTANT:
      return *(const uint8_t *)instr->literal->data != 0;
    case HLO_COMPARE:
      return compared(direction, x[0], x[1]);
    case HLO_SELECT:
      return x[0] != 0 ? x[1] : x[2];
    case HLO_NOT:
      return x[0] == 0;
    case HLO_AND:
      return x[0] != 0 && x[1] != 0;
    case HLO_OR:
      return x[0] != 0 || x[1] != 0;
    default:
      return x[0] != x[1];
  }
}
