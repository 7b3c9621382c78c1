/* Written by rsdump embed from the lock and its bundles; write it again instead of editing. */

#include "EmbeddedDumps.h"

#ifndef __has_embed
#error "this C compiler has no #embed (C23); build with Swift 6.3 or newer, whose clang has it, or do not embed the dumps and read them from a directory or a resource bundle (PackagedSource.directory, .bundleResource)"
#else

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char lock[] = {
#embed "../../dumps/dumps.lock.json"
};

static const unsigned char bundle_0[] = {
#embed "../../dumps/main/regions.zip"
};
static const unsigned char bundle_1[] = {
#embed "../../dumps/main/search-hints.zip"
};

static const struct EmbeddedDumps_bundle bundles[] = {
    {"main/regions", bundle_0, sizeof bundle_0},
    {"main/search-hints", bundle_1, sizeof bundle_1},
    {0, 0, 0},
};

static const struct EmbeddedDumps_index contents = {lock, sizeof lock, bundles, 2};

const struct EmbeddedDumps_index *EmbeddedDumps_contents(void) { return &contents; }

#endif
