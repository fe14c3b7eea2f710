/* Shared by the parts of the wait-for report: its messages, and the text made of them. Thread: the
 * one that waits. */
#ifndef EXEC_WAIT_FOR_PARTS_H
#define EXEC_WAIT_FOR_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define HOST_SIZE 64

typedef enum note_kind { NOTE_QUERY = 1, NOTE_TIMED_OUT, NOTE_QUESTION, NOTE_ANSWER } note_kind_t;

/* Message of the protocol: the asking rank sends questions, the others all other kinds. */
typedef struct note {
  uint32_t kind, number; /* kind, and number of the question */
  int32_t peer;          /* rank that the sender waits for; -1: a group, or none */
  float waited_s;
  uint32_t in_loop; /* the sender iterates in a loop and waits for no rank */
  char host[HOST_SIZE];
  char text[320]; /* "waits for ..." */
} graph_msg_t;

/* Adds the report to a failure as notes: the cycle first, then the other ranks. `all`: the last
 * message of each rank, of kind 0 if there is none. in_cycle: room for a mark per rank. */
hr_status_t exec_wait_report(hr_status_t st, const graph_msg_t *all, int world, bool *in_cycle);

#endif
