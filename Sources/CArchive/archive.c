#include "CArchive.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static struct rs_archive library;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *failure;

static void load(void) {
#ifdef __APPLE__
    static const char *const names[] = {
        "libarchive.13.dylib", "/opt/homebrew/opt/libarchive/lib/libarchive.13.dylib",
        "/usr/local/opt/libarchive/lib/libarchive.13.dylib"};
#else
    static const char *const names[] = {"libarchive.so.13", "libarchive.so"};
#endif
    void *loaded = NULL;
    for (size_t number = 0; loaded == NULL && number < sizeof names / sizeof *names; number++)
        loaded = dlopen(names[number], RTLD_NOW | RTLD_LOCAL);
    if (loaded == NULL) {
        failure = "no libarchive.so.13 that can be loaded";
        return;
    }
#define FIND(name)                                                                                                    \
    library.name = (__typeof__(&name))dlsym(loaded, #name);                                                           \
    if (library.name == NULL) {                                                                                       \
        failure = "one without " #name;                                                                               \
        return;                                                                                                       \
    }
    RS_ARCHIVE_FUNCTIONS(FIND)
}

const struct rs_archive *rs_archive_load(const char **problem) {
    pthread_once(&once, load);
    *problem = failure;
    return failure == NULL ? &library : NULL;
}
