/* A library to preload: what MISSING_LIBRARY names is not installed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

void *dlopen(const char *file, int mode) {
    const char *missing = getenv("MISSING_LIBRARY");
    if (file != NULL && missing != NULL && strstr(file, missing) != NULL) return NULL;
    return ((void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen"))(file, mode);
}
