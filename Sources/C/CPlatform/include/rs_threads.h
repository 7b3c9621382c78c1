#ifndef CTHREADS_H
#define CTHREADS_H

/* Starts a detached thread with all signals blocked. This includes SIGPIPE, which TLS libraries raise when they write
   to a closed connection, so it does not have to be handled. Returns 0 or an errno value. */
int rs_start_thread(void *(*body)(void *), void *context);

#endif
