#ifndef C_MAPPED_FAULTS_H
#define C_MAPPED_FAULTS_H

/// Installs a SIGBUS handler that maps zeros in place of a page that cannot be read, for example because the mapped
/// file was truncated. Without it, the signal terminates the process. Call it once, before other threads are started.
///
/// @return 0, or the `errno` of the failure.
int mapped_faults_survive(void);

/// Installs a SIGBUS handler that exits with a message about the mapped file whose page cannot be read, because the
/// disk failed or the file was truncated. Call it once, before other threads are started. Does nothing on systems
/// other than Linux, because only `/proc/self/maps` tells which file is mapped at an address.
///
/// @param status the exit status of the process.
/// @return 0, or the `errno` of the failure.
int mapped_faults_explain(int status);

/// Returns how many pages have been replaced by zeros. Discard all data that was read while this number increased.
unsigned long mapped_faults_count(void);

#endif
