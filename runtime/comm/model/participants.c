/* Participants of communication instructions on a grid of num_replicas x num_partitions
 * processes. Group lists and pair lists are interned by their ids and mode, since programs
 * repeat them: each distinct list is expanded to ranks once. Sets of ranks are interned too, so
 * that groups compare by id.
 *
 * Meaning of ids: StableHLO spec, "Collective ops" (cross_replica, cross_partition,
 * cross_replica_and_partition, flattened_ids). Channels follow collective_permute. */
#include "comm/model/participants.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "comm/model/abstract_value.h"
#include "ops/query/replica_groups.h"

void comm_participant_sets_init(comm_participant_sets_t *sites, hr_arena_t *arena, int num_replicas,
                                int num_partitions) {
  *sites = (comm_participant_sets_t){.arena = arena,
                                     .num_replicas = num_replicas,
                                     .num_partitions = num_partitions,
                                     .world = num_replicas * num_partitions};
  hr_map_init(&sites->lists);
  hr_map_init(&sites->shared);
  hr_map_init(&sites->groups);
  hr_map_init(&sites->sites);
}

void comm_participant_sets_deinit(comm_participant_sets_t *sites) {
  hr_map_deinit(&sites->lists);
  hr_map_deinit(&sites->shared);
  hr_map_deinit(&sites->groups);
  hr_map_deinit(&sites->sites);
}

/* --- pairs --- */

typedef enum pair_ids { PAIR_IDS_REPLICA, PAIR_IDS_PARTITION, PAIR_IDS_PROCESS } pair_ids_t;

typedef struct pairs {
  uint32_t number;
  int *to, *from;
} pairs_t;

/* The rank of an id, as seen by `rank`: with PAIR_IDS_REPLICA the process of that replica in the
 * same partition, with PAIR_IDS_PARTITION the process of that partition in the same replica. rank =
 * replica * partitions + partition. */
static int rank_of_id(const comm_participant_sets_t *sites, pair_ids_t ids, int rank, int64_t id) {
  int partitions = sites->num_partitions;
  if (ids == PAIR_IDS_PROCESS) return (int)id;
  return ids == PAIR_IDS_REPLICA ? (int)id * partitions + rank % partitions
                                 : rank / partitions * partitions + (int)id;
}

/* The inverse: the id of `rank` itself. */
static int64_t id_of_rank(const comm_participant_sets_t *sites, pair_ids_t ids, int rank) {
  if (ids == PAIR_IDS_PROCESS) return rank;
  return ids == PAIR_IDS_REPLICA ? rank / sites->num_partitions : rank % sites->num_partitions;
}

/* Ids are in [0, limit). */
static int64_t id_limit(const comm_participant_sets_t *sites, pair_ids_t ids) {
  if (ids == PAIR_IDS_PROCESS) return sites->world;
  return ids == PAIR_IDS_REPLICA ? sites->num_replicas : sites->num_partitions;
}

static hr_status_t check_pair_ids(const comm_participant_sets_t *sites, const hlo_instr_t *instr,
                                  const hlo_int_lists_t *lists, pair_ids_t ids) {
  static const char *const names[] = {"replicas", "partitions", "processes"};
  for (int64_t i = 0; i < lists->count; i++)
    for (int64_t k = 0; k < 2; k++) {
      if (lists->lists[i].count != 2)
        return hlo_error(instr, NULL, "pair %ld lists %ld ids, want a source and a target", (long)i,
                         (long)lists->lists[i].count);
      int64_t id = lists->lists[i].data[k];
      if (id < 0 || id >= id_limit(sites, ids))
        return hlo_error(
            instr, NULL,
            "its pairs name %ld, but the grid of %d x %d (replicas x partitions) has %ld %s",
            (long)id, sites->num_replicas, sites->num_partitions, (long)id_limit(sites, ids),
            names[ids]);
    }
  return NULL;
}

/* Expands pairs of ids to ranks: to[rank] and from[rank], -1: none. Each id is a source at most
 * once and a target at most once. */
static hr_status_t fill_pairs(comm_participant_sets_t *sites, const hlo_instr_t *instr,
                              const hlo_int_lists_t *lists, pair_ids_t ids, pairs_t *pairs) {
  int64_t limit = id_limit(sites, ids), *next, *previous;
  HR_TRY(HR_NEW_ARRAY(sites->arena, sites->world, &pairs->to));
  HR_TRY(HR_NEW_ARRAY(sites->arena, sites->world, &pairs->from));
  HR_TRY(HR_NEW_ARRAY(sites->arena, limit, &next));
  HR_TRY(HR_NEW_ARRAY(sites->arena, limit, &previous));
  for (int64_t i = 0; i < limit; i++) next[i] = previous[i] = -1;
  for (int64_t i = 0; i < lists->count; i++) {
    const int64_t *pair = lists->lists[i].data;
    if (next[pair[0]] >= 0 || previous[pair[1]] >= 0)
      return hlo_error(instr, NULL, "its pairs name %ld twice as a %s",
                       (long)pair[next[pair[0]] < 0], next[pair[0]] >= 0 ? "source" : "target");
    next[pair[0]] = pair[1];
    previous[pair[1]] = pair[0];
  }
  for (int rank = 0; rank < sites->world; rank++) {
    int64_t id = id_of_rank(sites, ids, rank);
    pairs->to[rank] = next[id] < 0 ? -1 : rank_of_id(sites, ids, rank, next[id]);
    pairs->from[rank] = previous[id] < 0 ? -1 : rank_of_id(sites, ids, rank, previous[id]);
  }
  return NULL;
}

/* Adds id lists to a key: the length of each and the bytes of its ids. */
static void add_lists(hr_strbuf_t *key, const hlo_int_lists_t *lists) {
  for (int64_t g = 0; g < lists->count; g++) {
    const hr_ints_t *list = &lists->lists[g];
    hr_strbuf_add(key, (const char *)&list->count, sizeof list->count);
    hr_strbuf_add(key, (const char *)list->data, (size_t)list->count * sizeof *list->data);
  }
}

/* The value stored under the text; or NULL, and the text becomes a permanent key. */
static hr_status_t find_list(comm_participant_sets_t *sites, hr_strbuf_t *text, hr_str_t *out_key,
                             void **out_found) {
  HR_TRY(hr_strbuf_finish(text));
  hr_str_t key = {text->data, text->size};
  *out_found = hr_map_get(&sites->lists, key);
  return *out_found ? NULL : hr_arena_str(sites->arena, key, out_key);
}

/* The site's pairs: those of an earlier equal list with the same meaning of ids, or a new
 * expansion. */
static hr_status_t find_pairs(comm_participant_sets_t *sites, const hlo_instr_t *instr,
                              const hlo_int_lists_t *lists, pair_ids_t ids,
                              comm_participants_t *site) {
  hr_strbuf_t text;
  hr_str_t key = {0};
  void *found = NULL;
  hr_strbuf_init(&text);
  hr_strbuf_printf(&text, "pairs %d:", (int)ids);
  add_lists(&text, lists);
  hr_status_t st = find_list(sites, &text, &key, &found);
  hr_strbuf_deinit(&text);
  HR_TRY(st);
  pairs_t *pairs = found;
  if (!pairs) {
    HR_TRY(check_pair_ids(sites, instr, lists, ids));
    HR_TRY(HR_NEW(sites->arena, &pairs));
    pairs->number = ++sites->list_count;
    HR_TRY(fill_pairs(sites, instr, lists, ids, pairs));
    HR_TRY(hr_map_put(&sites->lists, key, pairs, NULL));
  }
  site->list = pairs->number;
  site->to = pairs->to;
  site->from = pairs->from;
  return NULL;
}

/* --- the ends of channels --- */

/* "{{0,1},{1,2}}" */
static hr_status_t parse_pairs(hr_arena_t *arena, const hlo_instr_t *instr, hr_str_t text,
                               hlo_int_lists_t *out_lists) {
  const char *zero_ended;
  int64_t *ids, count = 0;
  hr_ints_t *lists;
  HR_TRY(hr_arena_cstr(arena, text, &zero_ended));
  HR_TRY(HR_NEW_ARRAY(arena, text.size / 2 + 1, &ids));
  for (const char *at = zero_ended; *at;) {
    char *end;
    if (!strchr("0123456789-", *at)) {
      if (!strchr("{}, \"", *at))
        return hlo_error(instr, NULL, "its source_target_pairs are \"%s\"", zero_ended);
      at++;
      continue;
    }
    ids[count] = strtol(at, &end, 10);
    if (end == at) return hlo_error(instr, NULL, "its source_target_pairs are \"%s\"", zero_ended);
    count++;
    at = end;
  }
  if (count % 2)
    return hlo_error(instr, NULL, "its source_target_pairs are \"%s\", want pairs", zero_ended);
  HR_TRY(HR_NEW_ARRAY(arena, count / 2, &lists));
  for (int64_t i = 0; i < count / 2; i++) lists[i] = (hr_ints_t){ids + 2 * i, 2};
  *out_lists = (hlo_int_lists_t){count / 2, lists};
  return NULL;
}

/* Ids of a channel's pairs have the meaning of those of a collective-permute: partitions if there
 * is a channel id, else replicas. On a grid of one row or one column, or if an id is too large for
 * that, they are processes. */
static pair_ids_t channel_ids(const comm_participant_sets_t *sites, int64_t channel,
                              const hlo_int_lists_t *lists) {
  if (sites->num_replicas == 1 || sites->num_partitions == 1) return PAIR_IDS_PROCESS;
  pair_ids_t ids = channel > 0 ? PAIR_IDS_PARTITION : PAIR_IDS_REPLICA;
  for (int64_t i = 0; i < lists->count; i++)
    for (int k = 0; k < 2; k++)
      if (lists->lists[i].data[k] >= id_limit(sites, ids)) return PAIR_IDS_PROCESS;
  return ids;
}

/* A send or recv: its pairs come from the attribute, or from the frontend attribute in which XLA's
 * passes store them. Without pairs channel_routes.c searches for the other end. */
static hr_status_t fill_channel(comm_participant_sets_t *sites, comm_participants_t *site) {
  const hlo_instr_t *instr = site->instr;
  const hlo_int_lists_t *attr = hlo_attr_lists(instr, HLO_ATTR_SOURCE_TARGET_PAIRS);
  hr_str_t text = hlo_frontend_attribute(instr, "_xla_send_recv_source_target_pairs");
  hlo_int_lists_t lists;
  site->kind = COMM_CHANNEL;
  if (!attr && !text.size) return NULL;
  if (attr) return find_pairs(sites, instr, attr, channel_ids(sites, site->channel, attr), site);
  hr_arena_t scratch;
  hr_arena_init(&scratch);
  hr_status_t st = parse_pairs(&scratch, instr, text, &lists);
  if (!st) st = find_pairs(sites, instr, &lists, channel_ids(sites, site->channel, &lists), site);
  hr_arena_deinit(&scratch);
  return st;
}

/* --- groups --- */

static int compare_ranks(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* The set of ranks as a group; equal sets share an id, whatever their order. `order` hashes the
 * order, which gathers use for concatenation. */
static hr_status_t intern_group(comm_participant_sets_t *sites, const op_members_t *members,
                                const check_group_t **out_group) {
  check_group_t *group, *same;
  HR_TRY(HR_NEW(sites->arena, &group));
  size_t bytes = (size_t)members->size * sizeof *members->ranks;
  group->order = hr_hash_bytes(members->ranks, bytes, 3);
  qsort(members->ranks, (size_t)members->size, sizeof *members->ranks, compare_ranks);
  group->size = members->size;
  group->ranks = members->ranks;
  hr_str_t key = {(const char *)members->ranks, bytes};
  same = hr_map_get(&sites->groups, key);
  group->id = same ? same->id : (uint32_t)sites->groups.count + 1;
  if (!same) HR_TRY(hr_map_put(&sites->groups, key, group, NULL));
  *out_group = group;
  return NULL;
}

/* The group of each rank; a group is looked up once, by its first rank, and stored for all its
 * members. NULL remains for ranks in no group. */
static hr_status_t fill_groups(comm_participant_sets_t *sites, const hlo_instr_t *instr,
                               const check_group_t **groups) {
  const hr_ints_t **list_of;
  HR_TRY(op_group_lists(sites->arena, instr, sites->num_replicas, sites->num_partitions, &list_of));
  for (int rank = 0; rank < sites->world; rank++) {
    op_members_t members;
    const check_group_t *group;
    if (groups[rank]) continue;
    HR_TRY(op_group_members_in(sites->arena, instr, sites->num_replicas, sites->num_partitions,
                               rank, list_of, &members));
    if (members.my_index < 0) continue;
    for (int k = 0; k < members.size; k++)
      if (members.ranks[k] < 0 || members.ranks[k] >= sites->world)
        return hlo_error(
            instr, NULL,
            "its replica_groups name more than the grid of %d x %d (replicas x partitions) has",
            sites->num_replicas, sites->num_partitions);
    HR_TRY(intern_group(sites, &members, &group));
    for (int k = 0; k < group->size; k++) groups[group->ranks[k]] = group;
  }
  return NULL;
}

static bool is_reducing(const hlo_instr_t *instr) {
  return hlo_op_is(instr->op, OP_HAS_BODY) && instr->called_count;
}

static hlo_opcode_t without_start(hlo_opcode_t op) {
  if (op == HLO_ALL_REDUCE_START) return HLO_ALL_REDUCE;
  return op == HLO_ALL_GATHER_START ? HLO_ALL_GATHER : op;
}

/* Hashes the properties that all members must agree on: op, reduction, dimensions. Operands are
 * compared separately. */
static hr_status_t fill_meaning(comm_participants_t *site) {
  const hlo_instr_t *instr = site->instr;
  hr_ints_t dimensions = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  uint64_t body = 0;
  if (is_reducing(instr)) HR_TRY(check_computation_hash(instr->called[0], &body));
  site->meaning =
      check_mix(check_mix((uint64_t)without_start(instr->op), body),
                hr_hash_bytes(dimensions.data, (size_t)dimensions.count * sizeof(int64_t), 5));
  return NULL;
}

/* The group of each rank. */
typedef struct rank_groups {
  const check_group_t **groups;
  bool covers; /* every rank is in a group */
} rank_groups_t;

/* The groups by rank of these lists, interned by ids and mode as pairs are. */
static hr_status_t expand_groups(comm_participant_sets_t *sites, const hlo_instr_t *instr,
                                 rank_groups_t **out_expanded) {
  const hlo_groups_t *attr = hlo_attr_groups(instr);
  hr_strbuf_t text;
  hr_str_t key = {0};
  void *found = NULL;
  hr_strbuf_init(&text);
  hr_strbuf_printf(&text, "groups %d:", (int)op_replica_group_mode(instr));
  if (attr) add_lists(&text, &attr->groups);
  hr_status_t st = find_list(sites, &text, &key, &found);
  hr_strbuf_deinit(&text);
  HR_TRY(st);
  *out_expanded = found;
  if (found) return NULL;
  rank_groups_t *expanded;
  HR_TRY(HR_NEW(sites->arena, &expanded));
  HR_TRY(HR_NEW_ARRAY(sites->arena, sites->world, &expanded->groups));
  HR_TRY(fill_groups(sites, instr, expanded->groups));
  expanded->covers = true;
  for (int rank = 0; rank < sites->world; rank++)
    expanded->covers &= expanded->groups[rank] != NULL;
  HR_TRY(hr_map_put(&sites->lists, key, expanded, NULL));
  *out_expanded = expanded;
  return NULL;
}

/* Lists that instructions share, and their mode. */
typedef struct shared_lists {
  const hr_ints_t *lists;
  int64_t count, mode;
} shared_lists_t;

/* The site's groups by rank. Readers let instructions share equal long lists, which are found by
 * their address. */
static hr_status_t find_groups(comm_participant_sets_t *sites, comm_participants_t *site) {
  static const hlo_int_lists_t none = {0, NULL};
  const hlo_groups_t *attr = hlo_attr_groups(site->instr);
  const hlo_int_lists_t *lists = attr ? &attr->groups : &none;
  shared_lists_t *shared;
  HR_TRY(HR_NEW(sites->arena, &shared));
  *shared = (shared_lists_t){lists->lists, lists->count, op_replica_group_mode(site->instr)};
  hr_str_t key = {(const char *)shared, sizeof *shared};
  rank_groups_t *expanded = hr_map_get(&sites->shared, key);
  if (!expanded) {
    HR_TRY(expand_groups(sites, site->instr, &expanded));
    HR_TRY(hr_map_put(&sites->shared, key, expanded, NULL));
  }
  site->kind = COMM_GROUP;
  site->groups = expanded->groups;
  site->covers = expanded->covers;
  return fill_meaning(site);
}

/* --- sites --- */

/* Fills a site by the kind of its instruction: channel end, permutation, or groups. */
static hr_status_t make_site(comm_participant_sets_t *sites, const hlo_instr_t *instr,
                             comm_participants_t *site) {
  *site =
      (comm_participants_t){.instr = instr, .channel = hlo_attr_int(instr, HLO_ATTR_CHANNEL_ID)};
  if (site->channel < 0) site->channel = 0;
  if (instr->op == HLO_SEND || instr->op == HLO_RECV) return fill_channel(sites, site);
  if (instr->op != HLO_COLLECTIVE_PERMUTE && instr->op != HLO_COLLECTIVE_PERMUTE_START)
    return find_groups(sites, site);
  site->kind = COMM_PAIRS;
  bool cross_partition = op_replica_group_mode(instr) == HLO_GROUP_MODE_CROSS_PARTITION;
  return find_pairs(sites, instr, hlo_attr_lists(instr, HLO_ATTR_SOURCE_TARGET_PAIRS),
                    cross_partition ? PAIR_IDS_PARTITION : PAIR_IDS_REPLICA, site);
}

/* Sites are created once per instruction and live as long as the sets' arena. */
hr_status_t comm_participants_of(comm_participant_sets_t *sites, const hlo_instr_t *instr,
                                 const comm_participants_t **out_site) {
  comm_participants_t *site =
      hr_map_get(&sites->sites, (hr_str_t){(const char *)&instr, sizeof instr});
  const hlo_instr_t **key;
  if (!site) {
    HR_TRY(HR_NEW(sites->arena, &site));
    HR_TRY(HR_NEW(sites->arena, &key));
    HR_TRY(make_site(sites, instr, site));
    *key = instr;
    HR_TRY(hr_map_put(&sites->sites, (hr_str_t){(const char *)key, sizeof *key}, site, NULL));
  }
  *out_site = site;
  return NULL;
}
