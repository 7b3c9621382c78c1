/* A library to preload on Linux: after FULL_DISK_AFTER bytes, every write to a regular file fails with ENOSPC, as on a
 * full disk. Earlier data remains, and sockets, pipes and terminals still work.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long left = -1;

/* Returns how many of the `wanted` bytes still fit. */
static long room(int file, long wanted) {
    struct stat status;
    const char *text = getenv("FULL_DISK_AFTER");
    if (!text || syscall(SYS_fstat, file, &status) != 0 || !S_ISREG(status.st_mode)) return wanted;
    long unset = -1;
    atomic_compare_exchange_strong(&left, &unset, atol(text));
    long before = atomic_load(&left);
    long taken = before < wanted ? before : wanted;
    atomic_fetch_sub(&left, taken);
    return taken;
}

ssize_t write(int file, const void *bytes, size_t count) {
    long fits = room(file, (long)count);
    if (count > 0 && fits == 0) return errno = ENOSPC, -1;
    return syscall(SYS_write, file, bytes, (size_t)fits);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    long fits = room(file, (long)count);
    if (count > 0 && fits == 0) return errno = ENOSPC, -1;
    return syscall(SYS_pwrite64, file, bytes, (size_t)fits, offset);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    long wanted = 0;
    for (int part = 0; part < count; part++) wanted += (long)parts[part].iov_len;
    if (wanted > 0 && room(file, wanted) < wanted) return errno = ENOSPC, -1;
    return syscall(SYS_writev, file, parts, count);
}
