/* Matching of communication operations. Sends and recvs of a channel match by number per
 * (channel, from, to); collectives by number per (group, channel). Both are found through hash
 * maps by key. The first arrival of an instance is kept, and later ones are compared with it:
 * shapes, op, reduction, order of members. */
#include "check/matching.h"

#include "base/map.h"

void check_matching_init(check_matching_t *matching) {
  *matching = (check_matching_t){.all_channels = {0}};
  hr_arena_init(&matching->arena);
  hr_map_init(&matching->channels);
  hr_map_init(&matching->collectives);
}

void check_matching_deinit(check_matching_t *matching) {
  for (size_t i = 0; i < matching->all_channels.count; i++)
    HR_VEC_FREE(&matching->all_channels.data[i]->unmatched);
  for (size_t i = 0; i < matching->all_collectives.count; i++)
    HR_VEC_FREE(&matching->all_collectives.data[i]->instances);
  HR_VEC_FREE(&matching->all_channels);
  HR_VEC_FREE(&matching->all_collectives);
  hr_map_deinit(&matching->channels);
  hr_map_deinit(&matching->collectives);
  hr_arena_deinit(&matching->arena);
}

/* The queue of one (channel, permute, sender, receiver), created at its first use. */
static hr_status_t find_channel(check_matching_t *matching, int64_t channel, uint32_t list,
                                int from, int to, check_channel_t **out_channel) {
  check_channel_key_t key = {channel, list, from, to, 0};
  check_channel_t *entry =
      hr_map_get(&matching->channels, (hr_str_t){(const char *)&key, sizeof key});
  *out_channel = entry;
  if (entry) return NULL;
  HR_TRY(HR_NEW(&matching->arena, &entry));
  entry->key = key;
  entry->waiting[0] = CHECK_NOBODY;
  entry->waiting[1] = CHECK_NOBODY;
  HR_VEC_PUSH(&matching->all_channels, entry);
  *out_channel = entry;
  return hr_map_put(&matching->channels, (hr_str_t){(const char *)&entry->key, sizeof entry->key},
                    entry, NULL);
}

/* The collective of one (group, channel), in which the members' starts are counted. */
static hr_status_t find_collective(check_matching_t *matching, const check_group_t *group,
                                   int64_t channel, check_collective_t **out_collective) {
  check_collective_key_t key = {group->id, 0, channel};
  check_collective_t *collective =
      hr_map_get(&matching->collectives, (hr_str_t){(const char *)&key, sizeof key});
  *out_collective = collective;
  if (collective) return NULL;
  HR_TRY(HR_NEW(&matching->arena, &collective));
  HR_TRY(HR_NEW_ARRAY(&matching->arena, group->size, &collective->counts));
  collective->key = key;
  collective->group = group;
  collective->waiters = CHECK_NOBODY;
  HR_VEC_PUSH(&matching->all_collectives, collective);
  *out_collective = collective;
  return hr_map_put(&matching->collectives,
                    (hr_str_t){(const char *)&collective->key, sizeof collective->key}, collective,
                    NULL);
}

/* Binary search in the group's ranks, which are in ascending order. */
static int member_index(const check_group_t *group, int rank) {
  int low = 0, high = group->size - 1;
  while (low < high) {
    int middle = (low + high) / 2;
    if (group->ranks[middle] < rank)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* --- agreement --- */

static const hlo_shape_t *sent_shape(const check_event_t *event) {
  return event->site->instr->shape->elements[0];
}

/* MISUSE if the two ends of a message disagree in type or shape. A bounded size agrees with any
 * size within the bound. */
static hr_status_t compare_transfer(check_result_t *result, const check_channel_t *channel,
                                    check_arrival_t a, check_arrival_t b) {
  char text[2][HLO_SHAPE_TEXT];
  check_problem_t problem = {NULL, a.event->instr, b.event->instr, a.rank, b.rank};
  const hlo_shape_t *x, *y;
  if (channel->key.list) {
    if (a.event->site->instr->operand_count != b.event->site->instr->operand_count) {
      x = a.event->site->instr->shape;
      y = b.event->site->instr->shape;
    } else {
      x = a.event->site->instr->operands[0]->shape;
      y = b.event->site->instr->operands[0]->shape;
    }
  } else {
    x = sent_shape(a.event);
    y = sent_shape(b.event);
  }
  if (hlo_shape_compatible(x, y) || hlo_shape_compatible(y, x)) return NULL;
  bool by_type = hlo_shape_is_array(x) && hlo_shape_is_array(y) && x->dtype != y->dtype;
  HR_TRY(check_printf(
      result, &problem.text, "%s%ld carries different %s: %s from rank %d, but %s to rank %d",
      channel->key.list ? "collective-permute with channel " : "channel ",
      (long)channel->key.channel, by_type ? "types" : "shapes", hlo_shape_text(x, text[0]),
      channel->key.from, hlo_shape_text(y, text[1]), channel->key.to));
  return check_add_problem(result, CHECK_MISUSE, problem);
}

/* *out_k: the first operand that differs; -1 if the numbers of operands differ. */
static bool same_operands(const hlo_instr_t *a, const hlo_instr_t *b, int *out_k) {
  *out_k = -1;
  if (a->operand_count != b->operand_count) return false;
  for (int k = 0; k < a->operand_count; k++) {
    *out_k = k;
    const hlo_shape_t *x = a->operands[k]->shape, *y = b->operands[k]->shape;
    if (!hlo_shape_compatible(x, y) && !hlo_shape_compatible(y, x)) return false;
  }
  return true;
}

/* Describes the difference between two members' parts in one instance; NULL: they agree. */
static hr_status_t find_difference(check_result_t *result, const comm_participants_t *a,
                                   const comm_participants_t *b, uint64_t order_a, uint64_t order_b,
                                   const char **out_text) {
  char text[2][HLO_SHAPE_TEXT];
  int k;
  *out_text = NULL;
  if (a->instr->op != b->instr->op && a->meaning != b->meaning)
    return check_printf(result, out_text, "one process executes %s and another %s",
                        hlo_op_name(a->instr->op), hlo_op_name(b->instr->op));
  if (a->meaning != b->meaning)
    return check_printf(result, out_text,
                        "processes differ in the reduction or the dimensions of their %s",
                        hlo_op_name(a->instr->op));
  if (order_a != order_b)
    return check_printf(result, out_text,
                        "processes list the members of the group in different orders");
  if (same_operands(a->instr, b->instr, &k)) return NULL;
  if (k < 0)
    return check_printf(result, out_text, "processes pass %d and %d operands to one %s",
                        a->instr->operand_count, b->instr->operand_count,
                        hlo_op_name(a->instr->op));
  return check_printf(
      result, out_text, "processes pass operands of different shapes to one %s: %s and %s",
      hlo_op_name(a->instr->op), hlo_shape_text(a->instr->operands[k]->shape, text[0]),
      hlo_shape_text(b->instr->operands[k]->shape, text[1]));
}

/* MISUSE if two members meet in different collectives. Members with the same instruction need no
 * comparison. */
static hr_status_t compare_members(check_result_t *result, check_arrival_t a, check_arrival_t b) {
  check_problem_t problem = {NULL, a.event->instr, b.event->instr, a.rank, b.rank};
  if (a.event->site == b.event->site) return NULL;
  HR_TRY(find_difference(result, a.event->site, b.event->site, a.event->site->groups[a.rank]->order,
                         b.event->site->groups[b.rank]->order, &problem.text));
  return problem.text ? check_add_problem(result, CHECK_MISUSE, problem) : NULL;
}

/* Two unordered starts of one rank must be interchangeable, since either could meet the other's
 * partner. */
hr_status_t check_starts_agree(check_result_t *result, const check_event_t *a,
                               const check_event_t *b, int rank) {
  check_problem_t problem = {NULL, a->instr, b->instr, rank, rank};
  const comm_participants_t *x = a->site, *y = b->site;
  int k;
  bool same = x->kind == COMM_CHANNEL
                  ? hlo_shape_equal(sent_shape(a), sent_shape(b))
                  : x->meaning == y->meaning && same_operands(x->instr, y->instr, &k);
  if (same) return NULL;
  HR_TRY(check_printf(
      result, &problem.text,
      "in some order these two are exchanged, and each matches the partner of the other: a token "
      "is not threaded"));
  return check_add_problem(result, CHECK_MISUSE, problem);
}

/* --- starts --- */

/* Messages of a channel match in FIFO order: the n-th start of one end with the n-th of the
 * other. */
hr_status_t check_channel_start(check_result_t *result, check_channel_t *channel, int side,
                                int rank, const check_event_t *event) {
  check_arrival_t arrival = {event, rank};
  bool has_partner = channel->started[!side] > channel->started[side];
  channel->started[side]++;
  if (!has_partner) {
    HR_VEC_PUSH(&channel->unmatched, arrival);
    return NULL;
  }
  check_arrival_t partner = channel->unmatched.data[channel->first++];
  if (channel->first == channel->unmatched.count) channel->first = channel->unmatched.count = 0;
  return side ? compare_transfer(result, channel, partner, arrival)
              : compare_transfer(result, channel, arrival, partner);
}

/* The n-th starts of all members are one instance; later arrivals are compared with the first. */
hr_status_t check_collective_start(check_result_t *result, check_collective_t *collective, int rank,
                                   const check_event_t *event, uint32_t *out_number) {
  check_arrival_t arrival = {event, rank};
  uint32_t number = collective->counts[member_index(collective->group, rank)]++;
  if (number == collective->instances.count)
    HR_VEC_PUSH(&collective->instances, (check_instance_t){0, arrival});
  check_instance_t *instance = &collective->instances.data[number];
  instance->arrived++;
  *out_number = number;
  return compare_members(result, instance->first, arrival);
}

/* Endpoints of an event: one collective, or up to two channels (a permute sends and receives). */
hr_status_t check_ends_of(const check_result_t *result, check_matching_t *matching, int rank,
                          const check_event_t *event, check_ends_t *out_ends) {
  const comm_participants_t *site = event->site;
  int to = -1, from = -1;
  *out_ends = (check_ends_t){.collective = NULL};
  if (site->kind == COMM_GROUP)
    return site->groups[rank]
               ? find_collective(matching, site->groups[rank], site->channel, &out_ends->collective)
               : NULL;
  if (site->kind == COMM_PAIRS) {
    to = site->to[rank];
    from = site->from[rank];
  } else if (event->kind == CHECK_SEND || event->kind == CHECK_SEND_DONE) {
    to = check_channel_peer(result, site, rank, true);
  } else {
    from = check_channel_peer(result, site, rank, false);
  }
  uint32_t list = site->kind == COMM_PAIRS ? site->list : 0;
  if (to >= 0) HR_TRY(find_channel(matching, site->channel, list, rank, to, &out_ends->channel[0]));
  if (from >= 0)
    HR_TRY(find_channel(matching, site->channel, list, from, rank, &out_ends->channel[1]));
  return NULL;
}
