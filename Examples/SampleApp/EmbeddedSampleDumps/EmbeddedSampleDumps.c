/* Written by rsdump embed from the lock and its bundles; write it again instead of editing. */

#include "EmbeddedSampleDumps.h"

#ifndef __has_embed
#error "this C compiler has no #embed (C23); build with Swift 6.3 or newer, whose clang has it, or do not embed the dumps and read them from a directory or a resource bundle (PackagedSource.directory, .bundleResource)"
#else

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char lock[] = {
#embed "../dumps/dumps.lock.json"
};

static const unsigned char bundle_0[] = {
#embed "../dumps/main/app-config.zip"
};
static const unsigned char bundle_1[] = {
#embed "../dumps/main/regions.zip"
};

static const struct EmbeddedSampleDumps_bundle bundles[] = {
    {"main/app-config", bundle_0, sizeof bundle_0},
    {"main/regions", bundle_1, sizeof bundle_1},
    {0, 0, 0},
};

static const struct EmbeddedSampleDumps_index contents = {lock, sizeof lock, bundles, 2};

const struct EmbeddedSampleDumps_index *EmbeddedSampleDumps_contents(void) { return &contents; }

#endif
