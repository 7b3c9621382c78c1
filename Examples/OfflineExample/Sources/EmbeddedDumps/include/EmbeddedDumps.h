/* Written by rsdump embed from the lock and its bundles; write it again instead of editing. */

#ifndef EmbeddedDumps_h
#define EmbeddedDumps_h

#include <stddef.h>

struct EmbeddedDumps_bundle {
    /* bucket/collection */
    const char *collection;
    const unsigned char *bytes;
    size_t size;
};

struct EmbeddedDumps_index {
    /* dumps.lock.json */
    const unsigned char *lock;
    size_t lock_size;
    /* Sorted by collection. */
    const struct EmbeddedDumps_bundle *bundles;
    size_t bundle_count;
};

/* The embedded bytes. They are read-only and remain valid until the program exits. */
const struct EmbeddedDumps_index *EmbeddedDumps_contents(void);

#endif
