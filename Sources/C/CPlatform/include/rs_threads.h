#ifndef CTHREADS_H
#define CTHREADS_H

/* Starts a thread that takes no signal, SIGPIPE included, which TLS libraries raise by writing to a closed connection:
   so that no handler is needed. Returns 0 or an errno value. */
int rs_start_thread(void *(*body)(void *), void *context);

#endif
