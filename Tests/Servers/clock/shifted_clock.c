/* A library to preload on Linux: the time of day is later by the number of seconds in the file SHIFTED_CLOCK, which is
 * read at each call, so that a script can move all its processes to another day at once. The clocks of timeouts and the
 * times of files do not change.
 *
 * libfaketime 0.9.10 does more and cannot be used here: it changes the environment before main(), after which Swift 6.3
 * no longer finds its arguments, and without a faked CLOCK_MONOTONIC it breaks clock_nanosleep().
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long shift(void) {
    const char *path = getenv("SHIFTED_CLOCK");
    int before = errno, file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    char text[32] = {0};
    long seconds = 0;
    if (file >= 0) {
        if (read(file, text, sizeof text - 1) > 0) seconds = atol(text);
        close(file);
    }
    errno = before;
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += shift();
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    int result = (int)syscall(SYS_gettimeofday, time, zone);
    if (result == 0) time->tv_sec += shift();
    return result;
}

time_t time(time_t *time) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (time) *time = now.tv_sec;
    return now.tv_sec;
}
