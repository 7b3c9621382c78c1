/* A library between a program and libc (LD_PRELOAD) that counts the program's operations on files below a directory,
 * and makes one of them fail, or simulates a crash of the machine at it.
 *
 * FAULTS_BELOW    the directory, as an absolute path without links. Other operations are not counted.
 * FAULTS_PROGRAM  the program's name: programs that it starts, and that inherit the environment, are not affected.
 * FAULTS_LOG      a file to which each operation is written: its number, its traits, its name and its path.
 * FAULTS_KIND     the fault:
 *                   EIO, ENOSPC, EDQUOT, EINTR   the operation fails with this error, and has no effect
 *                   full      it fails with ENOSPC, like every later one that needs space
 *                   EROFS     it fails with EROFS, like every later one that changes anything
 *                   short     a read or write handles half of its bytes
 *                   page      a file is mapped, and an access to any of its pages causes SIGBUS
 *                   kill      the process is killed before the operation, without a crash
 *                   lost      the machine crashes before it: names and data that were not flushed are lost
 *                   torn      the same, but names persist: a file that was not flushed has its old content, or is empty
 *                   mixed     the same, but the first changes of names persist, and of each file that was not
 *                             flushed the old content, the new one, or the first bytes of the new one
 * FAULTS_AT       at which operation, from 1 on; 0 for never, -1 for a crash when the program has ended
 * FAULTS_STASH    an empty directory in the same file system, outside of FAULTS_BELOW, for what was removed or replaced
 *
 * The model of a crash. A file's data persists when fsync or fdatasync on it returns. A name (created, removed, or
 * renamed) persists when fsync on its directory returns; a rename between directories persists as a whole when either is
 * flushed, as in file systems with a journal. A file's fsync does not flush its name. Changes that do not persist are
 * undone, the newest first, before the process is killed, so real flushes are not needed.
 *
 * Not modeled: writes through shared mappings, the persistence of modes and times, and a disk that reorders flushed data.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FULL = 1, INTR = 2, SHORT = 4, CHANGES = 8, PAGES = 16 };
/* The first descriptor reserved for this library; there are fewer than MOST in total. */
enum { OWN = 4096, MOST = 16384 };

static const char *below, *kind;
static size_t below_length;
static long at, count;
static int active, log_file = -1, stash = -1, stashed;
static char *paths[MOST];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned long chance;

static unsigned dice(unsigned sides) {
    chance = chance * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(chance >> 33) % sides;
}

/* Finds a descriptor that the program does not use. */
static int own(int fd) {
    static int next = OWN;
    if (fd < 0) return fd;
    int moved = (int)syscall(SYS_dup3, fd, next, O_CLOEXEC);
    syscall(SYS_close, fd);
    if (moved >= 0) next++;
    return moved;
}

static int is(const char *name) { return kind && strcmp(kind, name) == 0; }
static int is_crash(void) { return is("lost") || is("torn") || is("mixed"); }
static void undo(void);

__attribute__((constructor)) static void start(void) {
    const char *program = getenv("FAULTS_PROGRAM"), *number = getenv("FAULTS_AT"), *log = getenv("FAULTS_LOG");
    below = getenv("FAULTS_BELOW");
    if (!below || !program || strcmp(program, program_invocation_short_name) != 0) return;
    below_length = strlen(below);
    kind = getenv("FAULTS_KIND");
    at = number ? atol(number) : 0;
    chance = (unsigned long)at * 2654435761ul + 1; /* the same at each run */
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < MOST) {
        limit.rlim_cur = limit.rlim_max < MOST ? limit.rlim_max : MOST;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    const char *directory = getenv("FAULTS_STASH");
    if (directory) stash = own((int)syscall(SYS_openat, AT_FDCWD, directory, O_RDONLY | O_DIRECTORY));
    if (log) log_file = own((int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0666));
    active = 1;
}

__attribute__((destructor)) static void end(void) {
    if (active && at == -1 && is_crash()) {
        pthread_mutex_lock(&mutex);
        undo();
        active = 0;
        pthread_mutex_unlock(&mutex);
    }
}

/* The absolute path of a name if it is below the directory, else NULL. The caller frees it. */
static char *located(int directory, const char *name) {
    char *full = NULL;
    if (!active || !name) return NULL;
    if (name[0] == '/') {
        full = strdup(name);
    } else if (directory == AT_FDCWD) {
        char current[4096];
        if (syscall(SYS_getcwd, current, sizeof current) < 0) return NULL;
        if (asprintf(&full, "%s/%s", current, name) < 0) return NULL;
    } else {
        if (directory < 0 || directory >= MOST || !paths[directory]) return NULL;
        if (asprintf(&full, "%s/%s", paths[directory], name) < 0) return NULL;
    }
    if (full && strncmp(full, below, below_length) == 0 && (full[below_length] == '/' || !full[below_length]))
        return full;
    free(full);
    return NULL;
}

static const char *tracked(int fd) { return active && fd >= 0 && fd < MOST ? paths[fd] : NULL; }

static void track(int fd, const char *path) {
    if (fd < 0 || fd >= MOST) return;
    free(paths[fd]);
    paths[fd] = path ? strdup(path) : NULL;
}

/* ---- Unflushed changes ---- */

struct data {
    dev_t device;
    ino_t inode;
    int fd;
    int is_dirty;
    size_t size;
    char *image;
};
static struct data *files;
static size_t file_count;

static int look(int fd, struct stat *status) { return (int)syscall(SYS_fstat, fd, status); }

static struct data *data_of(const struct stat *status) {
    for (size_t i = 0; i < file_count; i++)
        if (files[i].device == status->st_dev && files[i].inode == status->st_ino) return &files[i];
    return NULL;
}

/* Keeps a file's content before it is changed, unless it has been kept since the last flush. Closes `fd`. */
static void keep_data(int fd, int is_new) {
    struct stat status;
    if (fd < 0) return;
    if (look(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        syscall(SYS_close, fd);
        return;
    }
    struct data *file = data_of(&status);
    if (file) {
        syscall(SYS_close, fd);
    } else {
        files = realloc(files, (file_count + 1) * sizeof *files);
        file = &files[file_count++];
        *file = (struct data){.device = status.st_dev, .inode = status.st_ino, .fd = own(fd)};
    }
    if (file->is_dirty) return;
    free(file->image);
    file->size = is_new ? 0 : (size_t)status.st_size;
    file->image = malloc(file->size + 1);
    for (size_t filled = 0; filled < file->size;) {
        long step = syscall(SYS_pread64, file->fd, file->image + filled, file->size - filled, (off_t)filled);
        if (step <= 0) break;
        filled += (size_t)step;
    }
    file->is_dirty = 1;
}

static void keep_data_at(int directory, const char *name, int is_new) {
    if (!is_crash()) return;
    keep_data((int)syscall(SYS_openat, directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), is_new);
}

static void keep_data_of(int fd) {
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    if (is_crash()) keep_data((int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC), 0);
}

enum change { MADE, REMOVED, RENAMED };
struct place {
    int directory;
    dev_t device;
    ino_t inode;
    char *name;
};
struct name_change {
    enum change change;
    int is_durable;
    unsigned flags; /* of renameat2 */
    struct place from, to;
    char replaced[32]; /* the name in the stash of what was removed or replaced */
};
static struct name_change *changes;
static size_t change_count;

static struct place place(int directory, const char *name) {
    struct place place = {.directory = -1};
    char parent[4096];
    const char *slash = strrchr(name, '/');
    if (slash) {
        snprintf(parent, sizeof parent, "%.*s", (int)(slash == name ? 1 : slash - name), name);
        place.name = strdup(slash + 1);
    } else {
        snprintf(parent, sizeof parent, ".");
        place.name = strdup(name);
    }
    int fd = (int)syscall(SYS_openat, directory, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat status;
    if (fd >= 0 && look(fd, &status) == 0) {
        place.directory = own(fd);
        place.device = status.st_dev;
        place.inode = status.st_ino;
    }
    return place;
}

static struct name_change *note_name(enum change change) {
    changes = realloc(changes, (change_count + 1) * sizeof *changes);
    changes[change_count] = (struct name_change){.change = change};
    return &changes[change_count++];
}

static int exists(int directory, const char *name) {
    struct stat status;
    return syscall(SYS_newfstatat, directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Keeps a file that will be replaced or removed. A directory cannot have a second name, so `kept` is left empty. */
static void keep_file(struct place place, char *kept) {
    snprintf(kept, 32, "%d", stashed++);
    if (syscall(SYS_linkat, place.directory, place.name, stash, kept, 0) != 0) kept[0] = 0;
}

static void flushed(int fd) {
    struct stat status;
    if (!is_crash() || look(fd, &status) != 0) return;
    struct data *file = data_of(&status);
    if (file) file->is_dirty = 0;
    for (size_t i = 0; i < change_count; i++) {
        struct name_change *change = &changes[i];
        if ((change->from.device == status.st_dev && change->from.inode == status.st_ino)
            || (change->change == RENAMED && change->to.device == status.st_dev && change->to.inode == status.st_ino))
            change->is_durable = 1;
    }
}

/* Removes a name, with everything below it. */
static void take_away(struct place place) {
    char name[32];
    snprintf(name, sizeof name, "%d", stashed++);
    syscall(SYS_renameat2, place.directory, place.name, stash, name, 0);
}

static void undo(void) {
    size_t lasting = 0;
    if (is("torn")) lasting = change_count;
    if (is("mixed") && change_count) lasting = dice((unsigned)change_count + 1);
    for (size_t i = change_count; i-- > lasting;) {
        struct name_change *change = &changes[i];
        if (change->is_durable) continue;
        switch (change->change) {
        case MADE: take_away(change->from); break;
        case RENAMED:
            syscall(
                SYS_renameat2, change->to.directory, change->to.name, change->from.directory, change->from.name,
                change->flags & RENAME_EXCHANGE);
            if (change->replaced[0])
                syscall(SYS_renameat2, stash, change->replaced, change->to.directory, change->to.name, 0);
            break;
        case REMOVED:
            if (change->replaced[0])
                syscall(SYS_renameat2, stash, change->replaced, change->from.directory, change->from.name, 0);
            break;
        }
    }
    for (size_t i = 0; i < file_count; i++) {
        struct data *file = &files[i];
        if (!file->is_dirty) continue;
        if (is("mixed")) {
            unsigned fate = dice(3);
            struct stat status;
            if (fate == 0) continue;
            if (fate == 1 && look(file->fd, &status) == 0) {
                syscall(SYS_ftruncate, file->fd, (off_t)dice((unsigned)status.st_size + 1));
                continue;
            }
        }
        syscall(SYS_ftruncate, file->fd, (off_t)0);
        if (file->size) syscall(SYS_pwrite64, file->fd, file->image, file->size, (off_t)0);
    }
}

/* ---- The fault ---- */

static void note(const char *mark, const char *traits, const char *operation, const char *path) {
    char line[4400];
    int length = snprintf(line, sizeof line, "%s%ld %s %s %s\n", mark, count, traits, operation, path);
    if (log_file >= 0) syscall(SYS_write, log_file, line, (size_t)length);
}

static int code(void) {
    return is("EIO") ? EIO : is("EDQUOT") ? EDQUOT : is("EINTR") ? EINTR : is("EROFS") ? EROFS : ENOSPC;
}

/* Whether a fault of this kind can affect an operation with these traits. */
static int befalls(int traits) {
    if (is("EIO")) return 1;
    if (is("ENOSPC") || is("EDQUOT") || is("full")) return traits & FULL;
    if (is("EROFS")) return traits & CHANGES;
    if (is("EINTR")) return traits & INTR;
    if (is("short")) return traits & SHORT;
    if (is("page")) return traits & PAGES;
    return 1;
}

/* Counts an operation. Locks the mutex, which `leave` unlocks.
 *
 * Returns -1 if it must fail, with errno set; 1 if it must be short, or its pages unreadable; otherwise 0. */
static int enter(const char *operation, const char *path, int traits) {
    char letters[6] = {traits & FULL ? 'F' : '-', traits & INTR ? 'I' : '-', traits & SHORT ? 'S' : '-',
                       traits & CHANGES ? 'C' : '-', traits & PAGES ? 'P' : '-', 0};
    pthread_mutex_lock(&mutex);
    count++;
    note("", letters, operation, path);
    int is_now = at > 0 && kind && (count == at || ((is("full") || is("EROFS")) && count > at)) && befalls(traits);
    if (!is_now) return 0;
    note("!", letters, operation, path);
    if (is_crash()) undo();
    if (is_crash() || is("kill")) {
        syscall(SYS_kill, getpid(), SIGKILL);
        for (;;) pause();
    }
    if (is("short") || is("page")) return 1;
    errno = code();
    return -1;
}

static void leave(void) {
    int kept = errno;
    pthread_mutex_unlock(&mutex);
    errno = kept;
}

/* ---- Descriptors ---- */

static int open_at(int directory, const char *name, int flags, mode_t mode) {
    char *path = located(directory, name);
    if (!path) return (int)syscall(SYS_openat, directory, name, flags, mode);
    int creates = flags & O_CREAT, writes = flags & (O_CREAT | O_TRUNC), fd = -1;
    if (enter("open", path, INTR | (writes ? FULL | CHANGES : 0)) == 0) {
        int was_there = !writes || exists(directory, name);
        if (was_there && flags & O_TRUNC) keep_data_at(directory, name, 0);
        fd = (int)syscall(SYS_openat, directory, name, flags, mode);
        if (fd >= 0) {
            track(fd, path);
            if (!was_there && creates && is_crash()) {
                note_name(MADE)->from = place(directory, name);
                keep_data_at(directory, name, 1);
            }
        }
    }
    leave();
    free(path);
    return fd;
}

static mode_t mode_argument(int flags, va_list arguments) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

#define OPENING(NAME, PARAMETERS, DIRECTORY)                                                                       \
    int NAME PARAMETERS {                                                                                          \
        va_list arguments;                                                                                         \
        va_start(arguments, flags);                                                                                \
        mode_t mode = mode_argument(flags, arguments);                                                             \
        va_end(arguments);                                                                                         \
        return open_at(DIRECTORY, name, flags, mode);                                                              \
    }
OPENING(open, (const char *name, int flags, ...), AT_FDCWD)
OPENING(open64, (const char *name, int flags, ...), AT_FDCWD)
OPENING(openat, (int directory, const char *name, int flags, ...), directory)
OPENING(openat64, (int directory, const char *name, int flags, ...), directory)
int creat(const char *name, mode_t mode) { return open_at(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode); }

int close(int fd) {
    if (!tracked(fd)) return (int)syscall(SYS_close, fd);
    int fault = enter("close", tracked(fd), INTR | FULL);
    track(fd, NULL);
    /* Linux closes it even if it returns an error. */
    int result = (int)syscall(SYS_close, fd);
    if (fault) {
        errno = code();
        result = -1;
    }
    leave();
    return result;
}

int dup(int fd) {
    int copy = (int)syscall(SYS_dup, fd);
    if (tracked(fd)) track(copy, paths[fd]);
    return copy;
}

int dup3(int fd, int other, int flags) {
    int copy = (int)syscall(SYS_dup3, fd, other, flags);
    if (active && copy >= 0) track(copy, tracked(fd));
    return copy;
}

int dup2(int fd, int other) { return fd == other ? other : dup3(fd, other, 0); }

int fcntl(int fd, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    int result = (int)syscall(SYS_fcntl, fd, command, argument);
    if ((command == F_DUPFD || command == F_DUPFD_CLOEXEC) && tracked(fd)) track(result, paths[fd]);
    return result;
}
int fcntl64(int fd, int command, ...) __attribute__((alias("fcntl")));

/* A read or write of `size` bytes that may be made short. */
#define TRANSFER(OPERATION, TRAITS, BEFORE, CALL)                                                                  \
    if (!tracked(fd)) return CALL;                                                                                 \
    int fault = enter(OPERATION, tracked(fd), SHORT | INTR | (TRAITS));                                            \
    ssize_t result = -1;                                                                                           \
    if (fault >= 0) {                                                                                              \
        if (fault == 1 && size > 1) size /= 2;                                                                     \
        BEFORE;                                                                                                    \
        result = CALL;                                                                                             \
    }                                                                                                              \
    leave();                                                                                                       \
    return result;

ssize_t read(int fd, void *buffer, size_t size) {
    TRANSFER("read", 0, (void)0, (ssize_t)syscall(SYS_read, fd, buffer, size))
}
ssize_t pread(int fd, void *buffer, size_t size, off_t offset) {
    TRANSFER("read", 0, (void)0, (ssize_t)syscall(SYS_pread64, fd, buffer, size, offset))
}
ssize_t pread64(int, void *, size_t, off_t) __attribute__((alias("pread")));
ssize_t write(int fd, const void *buffer, size_t size) {
    TRANSFER("write", FULL | CHANGES, keep_data_of(fd), (ssize_t)syscall(SYS_write, fd, buffer, size))
}
ssize_t pwrite(int fd, const void *buffer, size_t size, off_t offset) {
    TRANSFER("write", FULL | CHANGES, keep_data_of(fd), (ssize_t)syscall(SYS_pwrite64, fd, buffer, size, offset))
}
ssize_t pwrite64(int, const void *, size_t, off_t) __attribute__((alias("pwrite")));

ssize_t readv(int fd, const struct iovec *parts, int number) {
    if (!tracked(fd)) return (ssize_t)syscall(SYS_readv, fd, parts, number);
    return number > 0 ? read(fd, parts[0].iov_base, parts[0].iov_len) : 0;
}
ssize_t writev(int fd, const struct iovec *parts, int number) {
    if (!tracked(fd)) return (ssize_t)syscall(SYS_writev, fd, parts, number);
    return number > 0 ? write(fd, parts[0].iov_base, parts[0].iov_len) : 0;
}

/* An operation on an open file, which BEFORE precedes. */
#define ON_FILE(TYPE, FAILED, OPERATION, FD, TRAITS, BEFORE, CALL)                                                 \
    if (!tracked(FD)) return (TYPE)(CALL);                                                                         \
    TYPE result = FAILED;                                                                                          \
    if (enter(OPERATION, tracked(FD), TRAITS) == 0) {                                                              \
        BEFORE;                                                                                                    \
        result = (TYPE)(CALL);                                                                                     \
    }                                                                                                              \
    leave();                                                                                                       \
    return result;

static int flush(int fd, int number) {
    if (!tracked(fd)) return (int)syscall(number, fd);
    int fault = enter("fsync", tracked(fd), INTR | FULL | CHANGES);
    if (fault == 0) flushed(fd);
    leave();
    return fault;
}
int fsync(int fd) { return flush(fd, SYS_fsync); }
int fdatasync(int fd) { return flush(fd, SYS_fdatasync); }

int ftruncate(int fd, off_t size) {
    ON_FILE(int, -1, "ftruncate", fd, FULL | INTR | CHANGES, keep_data_of(fd), syscall(SYS_ftruncate, fd, size))
}
int ftruncate64(int, off_t) __attribute__((alias("ftruncate")));
int fallocate(int fd, int mode, off_t offset, off_t size) {
    ON_FILE(int, -1, "fallocate", fd, FULL | INTR | CHANGES, keep_data_of(fd),
            syscall(SYS_fallocate, fd, mode, offset, size))
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
    if (!tracked(fd)) return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
    void *result = MAP_FAILED;
    int fault = enter("mmap", tracked(fd), PAGES);
    struct stat status;
    /* There are no pages beyond a file's end. */
    if (fault == 1 && look(fd, &status) == 0) offset = (status.st_size + 0xFFFF) & ~(off_t)0xFFFF;
    if (fault >= 0) result = (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
    leave();
    return result;
}
void *mmap64(void *, size_t, int, int, int, off_t) __attribute__((alias("mmap")));

int flock(int fd, int operation) {
    ON_FILE(int, -1, "flock", fd, INTR, (void)0, syscall(SYS_flock, fd, operation))
}

/* ---- Names ---- */

static int rename_at(int directory, const char *name, int other, const char *target, unsigned flags) {
    char *path = located(directory, name), *target_path = located(other, target);
    int result = -1;
    if (!path || !target_path) {
        result = (int)syscall(SYS_renameat2, directory, name, other, target, flags);
    } else {
        if (enter("rename", target_path, FULL | CHANGES) == 0) {
            struct name_change change = {.change = RENAMED, .flags = flags};
            if (is_crash()) {
                change.from = place(directory, name);
                change.to = place(other, target);
                if (!(flags & RENAME_EXCHANGE)) keep_file(change.to, change.replaced);
            }
            result = (int)syscall(SYS_renameat2, directory, name, other, target, flags);
            if (result == 0 && is_crash()) *note_name(RENAMED) = change;
            /* Open directories are accessed by their current names. */
            size_t length = strlen(path);
            for (int fd = 0; result == 0 && fd < MOST; fd++)
                if (paths[fd] && strncmp(paths[fd], path, length) == 0
                    && (!paths[fd][length] || paths[fd][length] == '/')) {
                    char *moved;
                    if (asprintf(&moved, "%s%s", target_path, paths[fd] + length) >= 0) {
                        free(paths[fd]);
                        paths[fd] = moved;
                    }
                }
        }
        leave();
    }
    free(path);
    free(target_path);
    return result;
}
int rename(const char *name, const char *target) { return rename_at(AT_FDCWD, name, AT_FDCWD, target, 0); }
int renameat(int directory, const char *name, int other, const char *target) {
    return rename_at(directory, name, other, target, 0);
}
int renameat2(int directory, const char *name, int other, const char *target, unsigned flags) {
    return rename_at(directory, name, other, target, flags);
}

/* A new name. */
#define MAKING(OPERATION, DIRECTORY, NAME, CALL)                                                                   \
    char *path = located(DIRECTORY, NAME);                                                                         \
    if (!path) return (int)(CALL);                                                                                 \
    int result = enter(OPERATION, path, FULL | CHANGES);                                                           \
    if (result == 0) {                                                                                             \
        result = (int)(CALL);                                                                                      \
        if (result == 0 && is_crash()) note_name(MADE)->from = place(DIRECTORY, NAME);                             \
    }                                                                                                              \
    leave();                                                                                                       \
    free(path);                                                                                                    \
    return result;

int linkat(int directory, const char *name, int other, const char *target, int flags) {
    MAKING("link", other, target, syscall(SYS_linkat, directory, name, other, target, flags))
}
int link(const char *name, const char *target) { return linkat(AT_FDCWD, name, AT_FDCWD, target, 0); }
int symlinkat(const char *content, int other, const char *target) {
    MAKING("symlink", other, target, syscall(SYS_symlinkat, content, other, target))
}
int symlink(const char *content, const char *target) { return symlinkat(content, AT_FDCWD, target); }
int mkdirat(int other, const char *target, mode_t mode) {
    MAKING("mkdir", other, target, syscall(SYS_mkdirat, other, target, mode))
}
int mkdir(const char *target, mode_t mode) { return mkdirat(AT_FDCWD, target, mode); }

static int is_empty(int directory, const char *name) {
    char buffer[512];
    int fd = (int)syscall(SYS_openat, directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return 0;
    long length, entries = 0;
    while ((length = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0)
        for (long i = 0; i < length; entries++) i += ((struct dirent64 *)(buffer + i))->d_reclen;
    syscall(SYS_close, fd);
    return entries == 2;
}

int unlinkat(int directory, const char *name, int flags) {
    char *path = located(directory, name);
    if (!path) return (int)syscall(SYS_unlinkat, directory, name, flags);
    int result = enter(flags & AT_REMOVEDIR ? "rmdir" : "unlink", path, CHANGES);
    if (result == 0) {
        struct name_change change = {.change = REMOVED};
        if (is_crash()) {
            change.from = place(directory, name);
            if (!(flags & AT_REMOVEDIR)) keep_file(change.from, change.replaced);
        }
        if (flags & AT_REMOVEDIR && is_crash() && is_empty(directory, name)) {
            /* Only move it away, because its removed files may have to be restored. */
            snprintf(change.replaced, sizeof change.replaced, "%d", stashed++);
            result = (int)syscall(SYS_renameat2, directory, name, stash, change.replaced, 0);
        } else {
            result = (int)syscall(SYS_unlinkat, directory, name, flags);
        }
        if (result == 0 && is_crash()) *note_name(REMOVED) = change;
    }
    leave();
    free(path);
    return result;
}
int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }
int remove(const char *name) {
    int result = unlink(name);
    return result != 0 && errno == EISDIR ? rmdir(name) : result;
}

/* ---- Reads of metadata ---- */

#define ON_NAME(TYPE, FAILED, OPERATION, DIRECTORY, NAME, TRAITS, CALL)                                            \
    char *path = located(DIRECTORY, NAME);                                                                         \
    if (!path) return (TYPE)(CALL);                                                                                \
    TYPE result = FAILED;                                                                                          \
    if (enter(OPERATION, path, TRAITS) == 0) result = (TYPE)(CALL);                                                \
    leave();                                                                                                       \
    free(path);                                                                                                    \
    return result;
#define LOOKING(OPERATION, DIRECTORY, NAME, CALL) ON_NAME(int, -1, OPERATION, DIRECTORY, NAME, 0, CALL)

int fstatat(int directory, const char *name, struct stat *status, int flags) {
    LOOKING("stat", directory, name, syscall(SYS_newfstatat, directory, name, status, flags))
}
int fstatat64(int, const char *, struct stat64 *, int) __attribute__((alias("fstatat")));
int stat(const char *name, struct stat *status) { return fstatat(AT_FDCWD, name, status, 0); }
int stat64(const char *, struct stat64 *) __attribute__((alias("stat")));
int lstat(const char *name, struct stat *status) { return fstatat(AT_FDCWD, name, status, AT_SYMLINK_NOFOLLOW); }
int lstat64(const char *, struct stat64 *) __attribute__((alias("lstat")));
int fstat(int fd, struct stat *status) {
    ON_FILE(int, -1, "stat", fd, 0, (void)0, syscall(SYS_fstat, fd, status))
}
int fstat64(int, struct stat64 *) __attribute__((alias("fstat")));
int statx(int directory, const char *name, int flags, unsigned mask, struct statx *status) {
    LOOKING("stat", directory, name, syscall(SYS_statx, directory, name, flags, mask, status))
}
int utimensat(int directory, const char *name, const struct timespec times[2], int flags) {
    LOOKING("utimens", directory, name, syscall(SYS_utimensat, directory, name, times, flags))
}
int access(const char *name, int mode) {
    LOOKING("access", AT_FDCWD, name, syscall(SYS_faccessat, AT_FDCWD, name, mode))
}

/* The function with the same name in libc. */
#define NEXT(TYPE, NAME)                                                                                           \
    static __typeof__(TYPE) next;                                                                                  \
    if (!next) next = (__typeof__(TYPE))dlsym(RTLD_NEXT, NAME)

char *realpath(const char *name, char *resolved) {
    NEXT(char *(*)(const char *, char *), "realpath");
    ON_NAME(char *, NULL, "realpath", AT_FDCWD, name, 0, next(name, resolved))
}

ssize_t readlink(const char *name, char *buffer, size_t size) {
    ON_NAME(ssize_t, -1, "readlink", AT_FDCWD, name, 0, syscall(SYS_readlinkat, AT_FDCWD, name, buffer, size))
}

DIR *opendir(const char *name) {
    NEXT(DIR * (*)(const char *), "opendir");
    char *path = located(AT_FDCWD, name);
    if (!path) return next(name);
    DIR *result = NULL;
    if (enter("opendir", path, INTR) == 0) {
        result = next(name);
        if (result) track(dirfd(result), path);
    }
    leave();
    free(path);
    return result;
}

DIR *fdopendir(int fd) {
    NEXT(DIR * (*)(int), "fdopendir");
    ON_FILE(DIR *, NULL, "opendir", fd, 0, (void)0, next(fd))
}

struct dirent *readdir(DIR *directory) {
    NEXT(struct dirent * (*)(DIR *), "readdir");
    ON_FILE(struct dirent *, NULL, "readdir", dirfd(directory), 0, errno = 0, next(directory))
}
struct dirent64 *readdir64(DIR *) __attribute__((alias("readdir")));

int closedir(DIR *directory) {
    NEXT(int (*)(DIR *), "closedir");
    if (tracked(dirfd(directory))) track(dirfd(directory), NULL);
    return next(directory);
}

FILE *fopen(const char *name, const char *mode) {
    NEXT(FILE * (*)(const char *, const char *), "fopen");
    ON_NAME(FILE *, NULL, "open", AT_FDCWD, name, INTR, next(name, mode))
}
FILE *fopen64(const char *, const char *) __attribute__((alias("fopen")));
