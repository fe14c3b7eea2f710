/* Names of signals for messages. */
#ifndef BASE_SIGNAL_NAME_H
#define BASE_SIGNAL_NAME_H

#define HR_SIGNAL_NAME 24 /* bytes for any name */

/* "SIGTERM"; "SIGRTMIN+3" for a real-time signal; "signal 200" for a number that is none. Returns
 * `into`. */
const char *hr_signal_name(int number, char into[HR_SIGNAL_NAME]);

#endif
