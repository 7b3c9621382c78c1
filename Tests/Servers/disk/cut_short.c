/* A library to preload on Linux: before the first write of at least a megabyte, the file CUT_SHORT is truncated to half
 * of its size, as when a program overwrites a file in place.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_flag done = ATOMIC_FLAG_INIT;

ssize_t write(int file, const void *bytes, size_t count) {
    const char *path = getenv("CUT_SHORT");
    struct stat status;
    if (path && count >= 1 << 20 && !atomic_flag_test_and_set(&done) && stat(path, &status) == 0)
        (void)!truncate(path, status.st_size / 2);
    return syscall(SYS_write, file, bytes, count);
}
