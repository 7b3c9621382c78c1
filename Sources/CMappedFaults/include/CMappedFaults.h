#ifndef C_MAPPED_FAULTS_H
#define C_MAPPED_FAULTS_H

/// From now on, reading a page of a mapped file that somebody has shortened gives zeros instead of ending the process
/// (SIGBUS). To be called once, before other threads are started.
///
/// @return 0, or the `errno` that says why it is not possible.
int mapped_faults_survive(void);

/// How many pages have been replaced by zeros so far. What was read while this number grew is not to be used.
unsigned long mapped_faults_count(void);

#endif
