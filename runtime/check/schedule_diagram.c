/* Layout of a schedule: one lane per process, one row per event. Rows are assigned by longest
 * path: a box is below its predecessor in the lane and below the start that its message comes
 * from. Long lanes keep their last DIAGRAM_MAX_BOXES events, those before the deadlock. */
#include "check/schedule_diagram.h"

#include "base/map.h"

/* --- lanes and boxes --- */

static const comm_trace_t *trace_of(const diagram_t *diagram, const diagram_box_t *box) {
  return diagram->result->of[diagram->lanes.data[box->lane].rank];
}

static const check_event_t *event_of(const diagram_t *diagram, const diagram_box_t *box) {
  return &trace_of(diagram, box)->events.data[box->event];
}

static bool has_lane(const diagram_t *diagram, int rank) {
  for (size_t i = 0; i < diagram->lanes.count; i++)
    if (diagram->lanes.data[i].rank == rank) return true;
  return false;
}

static hr_status_t add_lane(diagram_t *diagram, int rank) {
  if (diagram->lanes.count >= DIAGRAM_MAX_LANES || has_lane(diagram, rank)) return NULL;
  HR_VEC_PUSH(&diagram->lanes, (diagram_lane_t){.rank = rank});
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

/* Orders lanes: the processes of the cycle, then those they wait for, then the others. */
static hr_status_t choose_lanes(diagram_t *diagram) {
  const check_result_t *result = diagram->result;
  size_t cycle = result->cycle_length ? (size_t)result->cycle_length : 1;
  for (size_t i = 0; i < result->waits.count && i < cycle; i++)
    HR_TRY(add_lane(diagram, result->waits.data[i].rank));
  for (size_t i = 0; i < result->waits.count && i < cycle; i++)
    if (result->waits.data[i].other >= 0) HR_TRY(add_lane(diagram, result->waits.data[i].other));
  bool only_cycle = result->waits.count && !result->reached;
  for (int rank = 0;
       rank < result->world && !only_cycle && diagram->lanes.count < DIAGRAM_MAX_LANES; rank++)
    HR_TRY(add_lane(diagram, rank));
  return NULL;
}

static hr_status_t add_box(diagram_t *diagram, int lane, uint32_t event, diagram_mark_t mark) {
  HR_VEC_PUSH(&diagram->boxes, (diagram_box_t){lane, 0, event, mark, false});
  diagram->lanes.data[lane].box_count++;
  return NULL;
}

/* Does the shown run reach this event? */
static bool has_happened(const check_result_t *result, int rank, const check_wait_t *wait,
                         uint32_t event) {
  if (result->reached) return event < result->reached[rank];
  return !wait ||
         (event != wait->event && check_event_is_before(result->of[rank], event, wait->event));
}

static hr_status_t add_awaited(diagram_t *diagram, int lane) {
  const check_result_t *result = diagram->result;
  int rank = diagram->lanes.data[lane].rank;
  for (size_t i = 0; i < result->waits.count; i++) {
    const check_wait_t *wait = &result->waits.data[i];
    bool known =
        wait->other != rank || wait->awaited == CHECK_NEVER || !has_lane(diagram, wait->rank);
    for (size_t b = diagram->lanes.data[lane].first_box; b < diagram->boxes.count && !known; b++)
      known = diagram->boxes.data[b].event == wait->awaited;
    if (!known) HR_TRY(add_box(diagram, lane, wait->awaited, DIAGRAM_AWAITED));
  }
  return NULL;
}

static hr_status_t fill_lane(diagram_t *diagram, int lane) {
  const check_result_t *result = diagram->result;
  diagram_lane_t *at = &diagram->lanes.data[lane];
  const comm_trace_t *trace = result->of[at->rank];
  bool on_cycle = false;
  const check_wait_t *wait = wait_of(result, at->rank, &on_cycle);
  uint32_t count = 0, skip;
  for (uint32_t e = 0; e < trace->events.count; e++)
    count += has_happened(result, at->rank, wait, e);
  skip = count > DIAGRAM_MAX_BOXES ? count - DIAGRAM_MAX_BOXES : 0;
  at->cut = skip != 0;
  at->first_box = diagram->boxes.count;
  for (uint32_t e = 0; e < trace->events.count; e++) {
    if (!has_happened(result, at->rank, wait, e) || trace->events.data[e].kind == CHECK_REGION_END)
      continue;
    HR_TRY(add_box(diagram, lane, e, DIAGRAM_PLAIN));
    diagram->boxes.data[diagram->boxes.count - 1].hidden = skip != 0;
    skip -= skip != 0;
  }
  if (wait) HR_TRY(add_box(diagram, lane, wait->event, on_cycle ? DIAGRAM_STUCK : DIAGRAM_PLAIN));
  return add_awaited(diagram, lane);
}

/* --- arrows --- */

typedef struct track { /* boxes of the starts on one side of a channel, and of the dones of the
                          other side */
  const void *meeting;
  int side;
  HR_VEC(size_t) starts, dones;
} track_t;

typedef struct tracks {
  HR_VEC(track_t) list;
} tracks_t;

static hr_status_t find_track(tracks_t *tracks, const void *match, int side, track_t **out_track) {
  for (size_t i = 0; i < tracks->list.count; i++) {
    *out_track = &tracks->list.data[i];
    if ((*out_track)->meeting == match && (*out_track)->side == side) return NULL;
  }
  HR_VEC_PUSH(&tracks->list, (track_t){.meeting = match, .side = side});
  *out_track = &tracks->list.data[tracks->list.count - 1];
  return NULL;
}

/* Records arrows of messages: from a send to the recv-done that receives it; for a permute, from
 * its start to its done. */
static hr_status_t track_box(diagram_t *diagram, check_matching_t *matching, tracks_t *tracks,
                             size_t number) {
  const diagram_box_t *box = &diagram->boxes.data[number];
  const check_event_t *event = event_of(diagram, box);
  check_ends_t ends;
  track_t *track;
  if (!event->site || box->mark == DIAGRAM_AWAITED) return NULL;
  HR_TRY(
      check_ends_of(diagram->result, matching, diagram->lanes.data[box->lane].rank, event, &ends));
  bool starts = check_is_start(event);
  if (starts && ends.channel[0]) {
    HR_TRY(find_track(tracks, ends.channel[0], 0, &track));
    HR_VEC_PUSH(&track->starts, number);
  }
  if (!starts && ends.channel[1]) {
    HR_TRY(find_track(tracks, ends.channel[1], 0, &track));
    HR_VEC_PUSH(&track->dones, number);
  }
  return NULL;
}

static hr_status_t join_tracks(diagram_t *diagram, const tracks_t *tracks) {
  for (size_t t = 0; t < tracks->list.count; t++) {
    const track_t *track = &tracks->list.data[t];
    for (size_t i = 0; i < track->starts.count && i < track->dones.count; i++) {
      const diagram_box_t *from = &diagram->boxes.data[track->starts.data[i]],
                          *to = &diagram->boxes.data[track->dones.data[i]];
      if (to->mark != DIAGRAM_STUCK && !from->hidden && !to->hidden)
        HR_VEC_PUSH(&diagram->arrows,
                    (diagram_arrow_t){track->starts.data[i], track->dones.data[i], false});
    }
  }
  return NULL;
}

static hr_status_t find_messages(diagram_t *diagram) {
  check_matching_t matching;
  tracks_t tracks = {.list = {0}};
  hr_status_t st = NULL;
  check_matching_init(&matching);
  for (size_t i = 0; i < diagram->boxes.count && !st; i++)
    st = track_box(diagram, &matching, &tracks, i);
  if (!st) st = join_tracks(diagram, &tracks);
  for (size_t t = 0; t < tracks.list.count; t++) {
    HR_VEC_FREE(&tracks.list.data[t].starts);
    HR_VEC_FREE(&tracks.list.data[t].dones);
  }
  HR_VEC_FREE(&tracks.list);
  check_matching_deinit(&matching);
  return st;
}

static size_t find_box(const diagram_t *diagram, int rank, uint32_t event) {
  for (size_t i = 0; i < diagram->boxes.count; i++)
    if (diagram->lanes.data[diagram->boxes.data[i].lane].rank == rank &&
        diagram->boxes.data[i].event == event)
      return i;
  return SIZE_MAX;
}

static hr_status_t find_waits(diagram_t *diagram) {
  const check_result_t *result = diagram->result;
  for (size_t i = 0; i < result->waits.count; i++) {
    const check_wait_t *wait = &result->waits.data[i];
    if (wait->other < 0 || wait->awaited == CHECK_NEVER) continue;
    size_t from = find_box(diagram, wait->rank, wait->event),
           to = find_box(diagram, wait->other, wait->awaited);
    if (from != SIZE_MAX && to != SIZE_MAX)
      HR_VEC_PUSH(&diagram->arrows, (diagram_arrow_t){from, to, true});
  }
  return NULL;
}

/* --- rows --- */

/* Lowers each box below its predecessor in the lane, and below the source of its message. */
static bool lower_boxes(diagram_t *diagram) {
  bool changed = false;
  for (size_t l = 0; l < diagram->lanes.count; l++) {
    const diagram_lane_t *lane = &diagram->lanes.data[l];
    for (size_t i = lane->first_box + 1; i < lane->first_box + lane->box_count; i++) {
      diagram_box_t *box = &diagram->boxes.data[i];
      if (box[-1].hidden || box->row > box[-1].row) continue;
      box->row = box[-1].row + 1;
      changed = true;
    }
  }
  for (size_t i = 0; i < diagram->arrows.count; i++) {
    const diagram_arrow_t *arrow = &diagram->arrows.data[i];
    diagram_box_t *from = &diagram->boxes.data[arrow->from], *to = &diagram->boxes.data[arrow->to];
    if (arrow->stuck || to->row > from->row) continue;
    to->row = from->row + 1;
    changed = true;
  }
  return changed;
}

static void find_rows(diagram_t *diagram) {
  for (size_t pass = 0; pass < diagram->boxes.count && lower_boxes(diagram); pass++) {
  }
  for (size_t i = 0; i < diagram->boxes.count; i++)
    if (diagram->boxes.data[i].row >= diagram->row_count)
      diagram->row_count = diagram->boxes.data[i].row + 1;
}

/* --- the layout --- */

hr_status_t schedule_diagram_init(diagram_t *diagram, const check_result_t *result) {
  *diagram = (diagram_t){.result = result};
  if (result->of[0] == NULL) return NULL;
  HR_TRY(choose_lanes(diagram));
  for (size_t l = 0; l < diagram->lanes.count; l++)
    if (result->of[diagram->lanes.data[l].rank]) HR_TRY(fill_lane(diagram, (int)l));
  HR_TRY(find_messages(diagram));
  HR_TRY(find_waits(diagram));
  find_rows(diagram);
  return NULL;
}

void schedule_diagram_deinit(diagram_t *diagram) {
  HR_VEC_FREE(&diagram->lanes);
  HR_VEC_FREE(&diagram->boxes);
  HR_VEC_FREE(&diagram->arrows);
}

void schedule_diagram_label(hr_strbuf_t *text, const diagram_t *diagram, const diagram_box_t *box) {
  const check_event_t *event = event_of(diagram, box);
  hr_strbuf_printf(text, "%s %%%.*s", hlo_op_name(event->instr->op),
                   HR_STR_ARGS(event->instr->name));
}
