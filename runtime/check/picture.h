/* A schedule laid out for drawing: boxes in lanes, arrows between them. */
#ifndef CHECK_PICTURE_H
#define CHECK_PICTURE_H

#include "check/meeting.h"

#define PICTURE_LANES_MOST 64
#define PICTURE_BOXES_MOST 400 /* of one lane: the last ones */

typedef enum picture_mark {
  PICTURE_PLAIN,
  PICTURE_STUCK,   /* on the cycle, or waiting for what never comes */
  PICTURE_AWAITED  /* what a stuck process waits for: it does not happen */
} picture_mark_t;

typedef struct picture_box {
  int lane, row;
  uint32_t event;
  picture_mark_t mark;
  bool hidden; /* one of too many: only counts */
} picture_box_t;

typedef struct picture_arrow {
  size_t from, to; /* boxes */
  bool stuck;      /* "waits for" */
} picture_arrow_t;

typedef struct picture_lane {
  int rank;
  size_t first_box, box_count;
  bool cut; /* earlier events are left out */
} picture_lane_t;

typedef struct picture {
  const check_result_t *result;
  HR_VEC(picture_lane_t) lanes;
  HR_VEC(picture_box_t) boxes; /* lane by lane, in order */
  HR_VEC(picture_arrow_t) arrows;
  int row_count;
} picture_t;

hr_status_t check_picture_init(picture_t *picture, const check_result_t *result); /* deinit also after a failure */
void check_picture_deinit(picture_t *picture);
void check_picture_label(hr_text_t *text, const picture_t *picture, const picture_box_t *box);

#endif
