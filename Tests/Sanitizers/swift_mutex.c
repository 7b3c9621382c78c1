/* Preloaded into tests that are built with the thread sanitizer (scripts/test tsan): makes Swift's Mutex known to it.
 *
 * An uncontended Mutex is locked and unlocked by atomic operations in the program's own code, which the sanitizer sees. The
 * rest is in the standard library (_lockSlow and _unlockSlow in swiftlang/swift, LinuxImpl.swift), which is not built with the
 * sanitizer: without this library, it reports accesses under a contended Mutex as races. Nothing is suppressed: accesses
 * without a Mutex, or under different ones, are still races.
 *
 * Linux only. The functions have Swift's calling convention: the Mutex is in the context register. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SWIFT __attribute__((swiftcall))
#define CONTEXT __attribute__((swift_context))

/* The sanitizer's runtime is part of the tested program; other programs that inherit LD_PRELOAD have none. */
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

typedef SWIFT void Lock(uint32_t thread, CONTEXT void *mutex);
typedef SWIFT void Unlock(CONTEXT void *mutex);

SWIFT void lock_slow(uint32_t thread, CONTEXT void *mutex) __asm__(LOCK);
SWIFT void unlock_slow(CONTEXT void *mutex) __asm__(UNLOCK);

/* The standard library's own function of this name. */
static void *original(void **known, const char *name) {
    void *found = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (found == NULL) {
        found = dlsym(RTLD_NEXT, name);
        if (found == NULL) abort();
        __atomic_store_n(known, found, __ATOMIC_RELAXED);
    }
    return found;
}

SWIFT void lock_slow(uint32_t thread, CONTEXT void *mutex) {
    static void *known;
    ((Lock *)original(&known, LOCK))(thread, mutex);
    if (__tsan_acquire != NULL) __tsan_acquire(mutex);
}

SWIFT void unlock_slow(CONTEXT void *mutex) {
    static void *known;
    if (__tsan_release != NULL) __tsan_release(mutex);
    ((Unlock *)original(&known, UNLOCK))(mutex);
}
