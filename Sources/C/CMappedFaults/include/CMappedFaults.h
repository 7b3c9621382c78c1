#ifndef C_MAPPED_FAULTS_H
#define C_MAPPED_FAULTS_H

/// From now on, reading a page of a mapped file that somebody has shortened gives zeros instead of ending the process
/// (SIGBUS). To be called once, before other threads are started.
///
/// @return 0, or the `errno` that says why it is not possible.
int mapped_faults_survive(void);

/// From now on, reading a page of a mapped file that the disk does not deliver, or that somebody has shortened, ends the
/// process with an error that names the file, instead of with a signal (SIGBUS). To be called once, before other threads are
/// started. Does nothing on systems other than Linux, which do not say what is mapped where.
///
/// @param status the exit status of the process.
/// @return 0, or the `errno` that says why it is not possible.
int mapped_faults_explain(int status);

/// How many pages have been replaced by zeros so far. What was read while this number grew is not to be used.
unsigned long mapped_faults_count(void);

#endif
