/* How many processors this process may use. Thread: any. */
#ifndef HR_BASE_PROCESSORS_H
#define HR_BASE_PROCESSORS_H

/* Processors of the affinity mask of the calling thread, within the limit of the control group; at
 * least 1. */
int hr_processor_count(void);
/* As many of `count` processors as the control group's limit of processor time keeps busy; at least
 * 1. */
int hr_processor_limit(int count);

#endif
