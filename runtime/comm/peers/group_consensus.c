/* Consistency of collectives between programs (mpmd). Every rank describes its collectives as
 * lines of text (op, shapes, reduction, members, source location), the lines are all-gathered,
 * and every rank compares all of them, so that all reach the same verdict. Cost: collectives
 * times group size. */
#include "comm/peers/group_consensus.h"

#include "comm/model/participants.h"
#include "comm/peers/allgather_strings.h"
#include "ops/query/custom_call_table.h"

/* Description of a collective of one rank. `what`: op, operand shapes, channel and hashes of
 * reduction and order of members. */
typedef struct desc {
  hr_str_t what, members, location;
} collective_desc_t;
typedef HR_VEC(collective_desc_t) collective_descs_t;

/* --- collectives of this process --- */

typedef struct desc_writer {
  hr_strbuf_t *text;
  comm_participant_sets_t *sites;
  int rank;
  bool *visited;
} desc_writer_t;

static void write_location(hr_strbuf_t *text, const hlo_instr_t *instr) {
  const hr_source_t *source = &instr->parent->module->source;
  hr_strbuf_printf(text, "\t%s:%u: %%%.*s\n", source->path ? source->path : "the program",
                   instr->line, HR_STR_ARGS(instr->name));
}

static hr_status_t write_group(desc_writer_t *writer, const hlo_instr_t *instr,
                               const comm_participants_t *site) {
  const check_group_t *group = site->groups[writer->rank];
  if (!group) return NULL;
  hr_strbuf_printf(writer->text, "%s", hlo_op_name(instr->op));
  for (int k = 0; k < instr->operand_count; k++) {
    hr_strbuf_add_char(writer->text, ' ');
    hlo_shape_print(writer->text, instr->operands[k]->shape, false);
  }
  hr_strbuf_printf(writer->text, " channel %ld %016llx %016llx\t", (long)site->channel,
                   (unsigned long long)site->meaning, (unsigned long long)group->order);
  for (int k = 0; k < group->size; k++) hr_strbuf_printf(writer->text, "%d ", group->ranks[k]);
  write_location(writer->text, instr);
  return NULL;
}

/* True for an exchange within groups: all members must take part. Permutes and messages have peers
 * instead. */
static bool has_group(const hlo_instr_t *instr) {
  return hlo_op_is(instr->op, OP_COLLECTIVE) && instr->op != HLO_COLLECTIVE_PERMUTE &&
         instr->op != HLO_COLLECTIVE_PERMUTE_START;
}

static hr_status_t write_descs(desc_writer_t *writer, const hlo_computation_t *computation) {
  int replicas, partitions;
  const comm_participants_t *site;
  if (writer->visited[computation->id]) return NULL;
  writer->visited[computation->id] = true;
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    if (has_group(instr)) {
      HR_TRY(comm_participants_of(writer->sites, instr, &site));
      HR_TRY(write_group(writer, instr, site));
    }
    if (instr->called_count && op_parallel_grid(instr, &replicas, &partitions)) continue;
    for (int c = 0; c < instr->called_count; c++) HR_TRY(write_descs(writer, instr->called[c]));
  }
  return NULL;
}

static hr_status_t write_all(hr_arena_t *arena, const plan_t *plan, int rank, hr_strbuf_t *text) {
  comm_participant_sets_t sites;
  desc_writer_t writer = {.text = text, .sites = &sites, .rank = rank};
  hr_strbuf_printf(text, "%d\t%d\n", plan->grid.num_replicas, plan->grid.num_partitions);
  comm_participant_sets_init(&sites, arena, plan->grid.num_replicas, plan->grid.num_partitions);
  hr_status_t st = HR_NEW_ARRAY(arena, plan->module->computations.count, &writer.visited);
  if (!st) st = write_descs(&writer, plan->module->entry);
  comm_participant_sets_deinit(&sites);
  return st;
}

/* --- comparing --- */

static hr_status_t check_grid(hr_str_t *texts, int world) {
  int64_t replicas = 0, partitions = 0, r, p;
  for (int rank = 0; rank < world; rank++) {
    if (!exec_next_number(&texts[rank], &r) || !exec_next_number(&texts[rank], &p)) continue;
    if (!rank) {
      replicas = r;
      partitions = p;
    }
    if (r != replicas || p != partitions)
      return hr_error(HR_DISAGREE,
                      "rank %d runs on a grid of %ld x %ld (replicas x partitions), rank 0 on one "
                      "of %ld x %ld: give "
                      "--num-replicas and --num-partitions",
                      rank, (long)r, (long)p, (long)replicas, (long)partitions);
  }
  return NULL;
}

static hr_status_t read_descs(hr_str_t text, collective_descs_t *descs) {
  collective_desc_t desc;
  while (exec_next_field(&text, &desc.what) && exec_next_field(&text, &desc.members) &&
         exec_next_field(&text, &desc.location))
    HR_VEC_PUSH(descs, desc);
  return NULL;
}

static bool find_desc(const collective_descs_t *descs, const collective_desc_t *wanted,
                      const collective_desc_t **out_similar) {
  *out_similar = NULL;
  for (size_t i = 0; i < descs->count; i++) {
    if (!hr_str_equal(descs->data[i].members, wanted->members)) continue;
    *out_similar = &descs->data[i];
    if (hr_str_equal(descs->data[i].what, wanted->what)) return true;
  }
  return false;
}

static hr_status_t check_desc(const collective_descs_t *all, int world, int rank,
                              const collective_desc_t *desc) {
  int64_t member;
  hr_str_t rest = desc->members, field;
  while (rest.size) {
    size_t size = 0;
    while (size < rest.size && rest.data[size] != ' ') size++;
    field = (hr_str_t){rest.data, size};
    rest = (hr_str_t){rest.data + size + (size < rest.size), rest.size - size - (size < rest.size)};
    const collective_desc_t *similar;
    if (!exec_next_number(&field, &member) || member < 0 || member >= world || member == rank)
      continue;
    if (find_desc(&all[member], desc, &similar)) continue;
    hr_status_t st =
        hr_error(HR_DISAGREE, "rank %d has a collective with ranks %.*sthat rank %ld lacks", rank,
                 HR_STR_ARGS(desc->members), (long)member);
    st = hr_status_note(st, "rank %d: %.*s: %.*s", rank, HR_STR_ARGS(desc->location),
                        HR_STR_ARGS(desc->what));
    return similar ? hr_status_note(st, "rank %ld: %.*s: %.*s", (long)member,
                                    HR_STR_ARGS(similar->location), HR_STR_ARGS(similar->what))
                   : st;
  }
  return NULL;
}

static hr_status_t compare_all(hr_arena_t *arena, hr_str_t *texts, int world) {
  collective_descs_t *all;
  HR_TRY(check_grid(texts, world));
  HR_TRY(HR_NEW_ARRAY(arena, world, &all));
  hr_status_t st = NULL;
  for (int rank = 0; rank < world && !st; rank++) st = read_descs(texts[rank], &all[rank]);
  for (int rank = 0; rank < world && !st; rank++)
    for (size_t i = 0; i < all[rank].count && !st; i++)
      st = check_desc(all, world, rank, &all[rank].data[i]);
  for (int rank = 0; rank < world; rank++) HR_VEC_FREE(&all[rank]);
  return st;
}

hr_status_t group_consensus(exec_comm_t *comm, const plan_t *plan) {
  hr_arena_t arena;
  hr_strbuf_t mine;
  const hr_str_t *texts;
  hr_arena_init(&arena);
  hr_strbuf_init(&mine);
  hr_status_t st = write_all(&arena, plan, comm->groups->endpoint->rank, &mine);
  if (!st) st = exec_exchange(comm, &arena, &mine, &texts);
  if (!st) st = compare_all(&arena, (hr_str_t *)texts, comm->groups->endpoint->world_size);
  hr_strbuf_deinit(&mine);
  hr_arena_deinit(&arena);
  return st;
}
