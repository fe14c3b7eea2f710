#include "check/picture.h"

#include "base/map.h"

/* --- lanes and boxes --- */

static const check_behaviour_t *behaviour_of(const picture_t *picture, const picture_box_t *box) {
  return picture->result->of[picture->lanes.data[box->lane].rank];
}

static const check_event_t *event_of(const picture_t *picture, const picture_box_t *box) {
  return &behaviour_of(picture, box)->events.data[box->event];
}

static bool has_lane(const picture_t *picture, int rank) {
  for (size_t i = 0; i < picture->lanes.count; i++)
    if (picture->lanes.data[i].rank == rank) return true;
  return false;
}

static hr_status_t add_lane(picture_t *picture, int rank) {
  if (picture->lanes.count >= PICTURE_LANES_MOST || has_lane(picture, rank)) return NULL;
  HR_VEC_PUSH(&picture->lanes, (picture_lane_t){.rank = rank});
  return NULL;
}

static const check_wait_t *wait_of(const check_result_t *result, int rank, bool *out_on_cycle) {
  size_t cycle = result->cycle_length ? (size_t)result->cycle_length : 1;
  for (size_t i = 0; i < result->waits.count; i++)
    if (result->waits.data[i].rank == rank) {
      *out_on_cycle = i < cycle;
      return &result->waits.data[i];
    }
  return NULL;
}

/* The processes of the cycle first, then those they are about, then the others. */
static hr_status_t choose_lanes(picture_t *picture) {
  const check_result_t *result = picture->result;
  size_t cycle = result->cycle_length ? (size_t)result->cycle_length : 1;
  for (size_t i = 0; i < result->waits.count && i < cycle; i++) HR_TRY(add_lane(picture, result->waits.data[i].rank));
  for (size_t i = 0; i < result->waits.count && i < cycle; i++)
    if (result->waits.data[i].other >= 0) HR_TRY(add_lane(picture, result->waits.data[i].other));
  bool only_cycle = result->waits.count && !result->reached;
  for (int rank = 0; rank < result->world && !only_cycle && picture->lanes.count < PICTURE_LANES_MOST; rank++)
    HR_TRY(add_lane(picture, rank));
  return NULL;
}

static hr_status_t add_box(picture_t *picture, int lane, uint32_t event, picture_mark_t mark) {
  HR_VEC_PUSH(&picture->boxes, (picture_box_t){lane, 0, event, mark, false});
  picture->lanes.data[lane].box_count++;
  return NULL;
}

/* Does the run that is shown come by this event? */
static bool has_happened(const check_result_t *result, int rank, const check_wait_t *wait, uint32_t event) {
  if (result->reached) return event < result->reached[rank];
  return !wait || (event != wait->event && check_event_is_before(result->of[rank], event, wait->event));
}

static hr_status_t add_awaited(picture_t *picture, int lane) {
  const check_result_t *result = picture->result;
  int rank = picture->lanes.data[lane].rank;
  for (size_t i = 0; i < result->waits.count; i++) {
    const check_wait_t *wait = &result->waits.data[i];
    bool known = wait->other != rank || wait->awaited == CHECK_NEVER || !has_lane(picture, wait->rank);
    for (size_t b = picture->lanes.data[lane].first_box; b < picture->boxes.count && !known; b++)
      known = picture->boxes.data[b].event == wait->awaited;
    if (!known) HR_TRY(add_box(picture, lane, wait->awaited, PICTURE_AWAITED));
  }
  return NULL;
}

static hr_status_t fill_lane(picture_t *picture, int lane) {
  const check_result_t *result = picture->result;
  picture_lane_t *at = &picture->lanes.data[lane];
  const check_behaviour_t *behaviour = result->of[at->rank];
  bool on_cycle = false;
  const check_wait_t *wait = wait_of(result, at->rank, &on_cycle);
  uint32_t count = 0, skip;
  for (uint32_t e = 0; e < behaviour->events.count; e++) count += has_happened(result, at->rank, wait, e);
  skip = count > PICTURE_BOXES_MOST ? count - PICTURE_BOXES_MOST : 0;
  at->cut = skip != 0;
  at->first_box = picture->boxes.count;
  for (uint32_t e = 0; e < behaviour->events.count; e++) {
    if (!has_happened(result, at->rank, wait, e) || behaviour->events.data[e].kind == CHECK_REGION_END) continue;
    HR_TRY(add_box(picture, lane, e, PICTURE_PLAIN));
    picture->boxes.data[picture->boxes.count - 1].hidden = skip != 0;
    skip -= skip != 0;
  }
  if (wait) HR_TRY(add_box(picture, lane, wait->event, on_cycle ? PICTURE_STUCK : PICTURE_PLAIN));
  return add_awaited(picture, lane);
}

/* --- arrows --- */

typedef struct track { /* the boxes of the starts on one side of a link, and of the dones of the other */
  const void *meeting;
  int side;
  HR_VEC(size_t) starts, dones;
} track_t;

typedef struct tracks {
  HR_VEC(track_t) list;
} tracks_t;

static hr_status_t find_track(tracks_t *tracks, const void *meeting, int side, track_t **out_track) {
  for (size_t i = 0; i < tracks->list.count; i++) {
    *out_track = &tracks->list.data[i];
    if ((*out_track)->meeting == meeting && (*out_track)->side == side) return NULL;
  }
  HR_VEC_PUSH(&tracks->list, (track_t){.meeting = meeting, .side = side});
  *out_track = &tracks->list.data[tracks->list.count - 1];
  return NULL;
}

/* Messages: from a send to the recv-done that gets it; of a permute, from its start to its done. */
static hr_status_t track_box(picture_t *picture, check_meetings_t *meetings, tracks_t *tracks, size_t number) {
  const picture_box_t *box = &picture->boxes.data[number];
  const check_event_t *event = event_of(picture, box);
  check_ends_t ends;
  track_t *track;
  if (!event->site || box->mark == PICTURE_AWAITED) return NULL;
  HR_TRY(check_ends_of(picture->result, meetings, picture->lanes.data[box->lane].rank, event, &ends));
  bool starts = check_is_start(event);
  if (starts && ends.link[0]) {
    HR_TRY(find_track(tracks, ends.link[0], 0, &track));
    HR_VEC_PUSH(&track->starts, number);
  }
  if (!starts && ends.link[1]) {
    HR_TRY(find_track(tracks, ends.link[1], 0, &track));
    HR_VEC_PUSH(&track->dones, number);
  }
  return NULL;
}

static hr_status_t join_tracks(picture_t *picture, const tracks_t *tracks) {
  for (size_t t = 0; t < tracks->list.count; t++) {
    const track_t *track = &tracks->list.data[t];
    for (size_t i = 0; i < track->starts.count && i < track->dones.count; i++) {
      const picture_box_t *from = &picture->boxes.data[track->starts.data[i]],
                          *to = &picture->boxes.data[track->dones.data[i]];
      if (to->mark != PICTURE_STUCK && !from->hidden && !to->hidden)
        HR_VEC_PUSH(&picture->arrows, (picture_arrow_t){track->starts.data[i], track->dones.data[i], false});
    }
  }
  return NULL;
}

static hr_status_t find_messages(picture_t *picture) {
  check_meetings_t meetings;
  tracks_t tracks = {.list = {0}};
  hr_status_t st = NULL;
  check_meetings_init(&meetings);
  for (size_t i = 0; i < picture->boxes.count && !st; i++) st = track_box(picture, &meetings, &tracks, i);
  if (!st) st = join_tracks(picture, &tracks);
  for (size_t t = 0; t < tracks.list.count; t++) {
    HR_VEC_FREE(&tracks.list.data[t].starts);
    HR_VEC_FREE(&tracks.list.data[t].dones);
  }
  HR_VEC_FREE(&tracks.list);
  check_meetings_deinit(&meetings);
  return st;
}

static size_t find_box(const picture_t *picture, int rank, uint32_t event) {
  for (size_t i = 0; i < picture->boxes.count; i++)
    if (picture->lanes.data[picture->boxes.data[i].lane].rank == rank && picture->boxes.data[i].event == event)
      return i;
  return SIZE_MAX;
}

static hr_status_t find_waits(picture_t *picture) {
  const check_result_t *result = picture->result;
  for (size_t i = 0; i < result->waits.count; i++) {
    const check_wait_t *wait = &result->waits.data[i];
    if (wait->other < 0 || wait->awaited == CHECK_NEVER) continue;
    size_t from = find_box(picture, wait->rank, wait->event), to = find_box(picture, wait->other, wait->awaited);
    if (from != SIZE_MAX && to != SIZE_MAX) HR_VEC_PUSH(&picture->arrows, (picture_arrow_t){from, to, true});
  }
  return NULL;
}

/* --- rows --- */

/* A box is below the one before it in its lane, and below where its message comes from. */
static bool lower_boxes(picture_t *picture) {
  bool changed = false;
  for (size_t l = 0; l < picture->lanes.count; l++) {
    const picture_lane_t *lane = &picture->lanes.data[l];
    for (size_t i = lane->first_box + 1; i < lane->first_box + lane->box_count; i++) {
      picture_box_t *box = &picture->boxes.data[i];
      if (box[-1].hidden || box->row > box[-1].row) continue;
      box->row = box[-1].row + 1;
      changed = true;
    }
  }
  for (size_t i = 0; i < picture->arrows.count; i++) {
    const picture_arrow_t *arrow = &picture->arrows.data[i];
    picture_box_t *from = &picture->boxes.data[arrow->from], *to = &picture->boxes.data[arrow->to];
    if (arrow->stuck || to->row > from->row) continue;
    to->row = from->row + 1;
    changed = true;
  }
  return changed;
}

static void find_rows(picture_t *picture) {
  for (size_t pass = 0; pass < picture->boxes.count && lower_boxes(picture); pass++) {}
  for (size_t i = 0; i < picture->boxes.count; i++)
    if (picture->boxes.data[i].row >= picture->row_count) picture->row_count = picture->boxes.data[i].row + 1;
}

/* --- the whole --- */

hr_status_t check_picture_init(picture_t *picture, const check_result_t *result) {
  *picture = (picture_t){.result = result};
  if (result->of[0] == NULL) return NULL;
  HR_TRY(choose_lanes(picture));
  for (size_t l = 0; l < picture->lanes.count; l++)
    if (result->of[picture->lanes.data[l].rank]) HR_TRY(fill_lane(picture, (int)l));
  HR_TRY(find_messages(picture));
  HR_TRY(find_waits(picture));
  find_rows(picture);
  return NULL;
}

void check_picture_deinit(picture_t *picture) {
  HR_VEC_FREE(&picture->lanes);
  HR_VEC_FREE(&picture->boxes);
  HR_VEC_FREE(&picture->arrows);
}

void check_picture_label(hr_text_t *text, const picture_t *picture, const picture_box_t *box) {
  const check_event_t *event = event_of(picture, box);
  hr_text_printf(text, "%s %%%.*s", hlo_op_name(event->instr->op), HR_STR_ARGS(event->instr->name));
}
