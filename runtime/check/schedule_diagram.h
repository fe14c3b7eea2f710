/* Layout of a schedule for drawing: boxes in lanes, arrows between them. */
#ifndef CHECK_SCHEDULE_DIAGRAM_H
#define CHECK_SCHEDULE_DIAGRAM_H

#include "check/matching.h"

#define DIAGRAM_MAX_LANES 64
#define DIAGRAM_MAX_BOXES 400 /* per lane; the last ones are kept */

typedef enum diagram_mark {
  DIAGRAM_PLAIN,
  DIAGRAM_STUCK,  /* on the cycle, or waiting for an event that never happens */
  DIAGRAM_AWAITED /* awaited by a blocked process; never happens */
} diagram_mark_t;

typedef struct diagram_box {
  int lane, row;
  uint32_t event;
  diagram_mark_t mark;
  bool hidden; /* beyond DIAGRAM_MAX_BOXES: counted, not drawn */
} diagram_box_t;

typedef struct diagram_arrow {
  size_t from, to; /* boxes */
  bool stuck;      /* "waits for" */
} diagram_arrow_t;

typedef struct diagram_lane {
  int rank;
  size_t first_box, box_count;
  bool cut; /* earlier events are omitted */
} diagram_lane_t;

typedef struct diagram {
  const check_result_t *result;
  HR_VEC(diagram_lane_t) lanes;
  HR_VEC(diagram_box_t) boxes; /* lane by lane, in order */
  HR_VEC(diagram_arrow_t) arrows;
  int row_count;
} diagram_t;

hr_status_t schedule_diagram_init(diagram_t *diagram,
                                  const check_result_t *result); /* deinit also after a failure */
void schedule_diagram_deinit(diagram_t *diagram);
void schedule_diagram_label(hr_strbuf_t *text, const diagram_t *diagram, const diagram_box_t *box);

#endif
