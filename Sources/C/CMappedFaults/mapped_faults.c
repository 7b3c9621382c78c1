#define _GNU_SOURCE
#include "CMappedFaults.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_ulong faults;
static uintptr_t page_size;
static struct sigaction former;

/// Replaces the action of SIGBUS. Returns 0 or an errno value.
static int install(void (*handler)(int, siginfo_t *, void *), struct sigaction *replaced) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, replaced) == 0 ? 0 : errno;
}

/// Only system calls and an atomic addition: nothing else is allowed in a signal handler.
static void replace_page(int number, siginfo_t *info, void *context) {
    (void)context;
    int saved = errno;
    if (info->si_code == BUS_ADRERR && info->si_addr != NULL) {
        void *page = (void *)((uintptr_t)info->si_addr & ~(page_size - 1));
        // Counted first, so that nobody reads a zero that has not been counted.
        atomic_fetch_add(&faults, 1);
        if (mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page) {
            errno = saved;
            return;
        }
    }
    // Any other cause ends the process as it always did, when the instruction is tried again.
    sigaction(number, &former, NULL);
}

int mapped_faults_survive(void) {
    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    return install(replace_page, &former);
}

unsigned long mapped_faults_count(void) { return atomic_load(&faults); }

#ifdef __linux__

static int failure_status;
static struct sigaction unexplained;

/// The file that is mapped at an address, by `/proc/self/maps`, whose lines are
/// `START-END PERMISSIONS OFFSET DEVICE INODE   PATH`; empty where none is.
static void find_mapped_file(uintptr_t address, char *path, size_t room) {
    char buffer[1024];
    uintptr_t number = 0, start = 0;
    size_t length = 0;
    int field = 0, is_here = 0;
    char before = 0;
    path[0] = 0;
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (maps < 0) return;
    for (ssize_t count; (count = read(maps, buffer, sizeof buffer)) > 0;) {
        for (ssize_t i = 0; i < count; before = buffer[i++]) {
            char next = buffer[i];
            if (next == '\n') {
                if (is_here) goto found;
                number = 0;
                field = 0;
            } else if (field == 0 && next == '-') {
                start = number;
                number = 0;
            } else if (field == 0 && next != ' ') {
                number = number << 4 | (uintptr_t)(next <= '9' ? next - '0' : next - 'a' + 10);
            } else if (field < 5) {
                if (field == 0) is_here = start <= address && address < number;
                if (next == ' ' && before != ' ') field++;
                // Several spaces are before the path.
                if (field == 5 && next != ' ') field = 6;
            } else if (is_here && (next != ' ' || length > 0) && length + 1 < room) {
                // No control characters for somebody's terminal.
                path[length++] = (unsigned char)next < 0x20 || next == 0x7F ? '?' : next;
            }
        }
    }
found:
    close(maps);
    path[length] = 0;
}

static void say(const char *text) {
    for (size_t left = strlen(text); left > 0;) {
        ssize_t count = write(STDERR_FILENO, text, left);
        if (count < 0 && errno != EINTR) return;
        if (count > 0) text += count, left -= (size_t)count;
    }
}

/// Only system calls, as in `replace_page`. What is unfinished stays as it is when the process is killed.
static void explain(int number, siginfo_t *info, void *context) {
    (void)context;
    char path[4096] = "";
    if (info->si_code == BUS_ADRERR) find_mapped_file((uintptr_t)info->si_addr, path, sizeof path);
    if (path[0] != '/') {
        // Any other cause ends the process as it always did, when the instruction is tried again.
        sigaction(number, &unexplained, NULL);
        return;
    }
    say("rsdump: cannot read ");
    say(path);
    say(": the disk does not deliver a part of it, or it was shortened while it was read; restore the file, or remove it "
        "and make it again\n");
    _exit(failure_status);
}

int mapped_faults_explain(int status) {
    failure_status = status;
    return install(explain, &unexplained);
}

#else

int mapped_faults_explain(int status) {
    (void)status;
    return 0;
}

#endif
