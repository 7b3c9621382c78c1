/* Written by rsdump embed from the lock and its bundles; write it again instead of editing. */

#ifndef EmbeddedSampleDumps_h
#define EmbeddedSampleDumps_h

#include <stddef.h>

struct EmbeddedSampleDumps_bundle {
    /* bucket/collection */
    const char *collection;
    const unsigned char *bytes;
    size_t size;
};

struct EmbeddedSampleDumps_index {
    /* dumps.lock.json */
    const unsigned char *lock;
    size_t lock_size;
    /* Sorted by collection. */
    const struct EmbeddedSampleDumps_bundle *bundles;
    size_t bundle_count;
};

/* The embedded bytes. They are read-only and remain valid until the program exits. */
const struct EmbeddedSampleDumps_index *EmbeddedSampleDumps_contents(void);

#endif
