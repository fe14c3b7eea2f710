/* Number of processors that this process may use. Thread: any. */
#ifndef HR_BASE_PROCESSORS_H
#define HR_BASE_PROCESSORS_H

/* Processors of the affinity mask of the calling thread, within the limit of the control group; at
 * least 1. */
int hr_processor_count(void);
/* The smaller of `count` and the control group's limit of processor time; at least 1. */
int hr_processor_limit(int count);

#endif
