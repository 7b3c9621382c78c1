/* Written by rsdump embed from the lock and its bundles; write it again instead of editing. */

#ifndef EmbeddedFirefoxDumps_h
#define EmbeddedFirefoxDumps_h

#include <stddef.h>

struct EmbeddedFirefoxDumps_bundle {
    /* bucket/collection */
    const char *collection;
    const unsigned char *bytes;
    size_t size;
};

struct EmbeddedFirefoxDumps_index {
    /* dumps.lock.json */
    const unsigned char *lock;
    size_t lock_size;
    /* Sorted by collection. */
    const struct EmbeddedFirefoxDumps_bundle *bundles;
    size_t bundle_count;
};

/* The embedded bytes. They are read-only and remain valid until the program exits. */
const struct EmbeddedFirefoxDumps_index *EmbeddedFirefoxDumps_contents(void);

#endif
