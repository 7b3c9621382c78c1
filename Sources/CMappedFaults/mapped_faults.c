#define _GNU_SOURCE
#include "CMappedFaults.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_ulong faults;
static uintptr_t page_size;
static struct sigaction former;

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
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = replace_page;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, &former) == 0 ? 0 : errno;
}

unsigned long mapped_faults_count(void) { return atomic_load(&faults); }
