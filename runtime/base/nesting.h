/* How deeply computations may call each other: readers, passes and engines recurse. */
#ifndef HR_BASE_NESTING_H
#define HR_BASE_NESTING_H

/* Most levels of calls and regions: 2000, or fewer if this process's stack (ulimit -s) has not the
 * room for them. */
int hr_nesting_limit(void);

#endif
