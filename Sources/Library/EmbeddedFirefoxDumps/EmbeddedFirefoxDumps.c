/* Written by rsdump embed from the lock and its bundles; write it again instead of editing. */

#include "EmbeddedFirefoxDumps.h"

#ifndef __has_embed
#error "this C compiler has no #embed (C23); build with Swift 6.3 or newer, whose clang has it, or do not embed the dumps and read them from a directory or a resource bundle (PackagedSource.directory, .bundleResource)"
#else

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char lock[] = {
#embed "../../../dumps/dumps.lock.json"
};

static const unsigned char bundle_0[] = {
#embed "../../../dumps/blocklists/addons-bloomfilters.zip"
};
static const unsigned char bundle_1[] = {
#embed "../../../dumps/main/devtools-devices.zip"
};
static const unsigned char bundle_2[] = {
#embed "../../../dumps/main/language-dictionaries.zip"
};
static const unsigned char bundle_3[] = {
#embed "../../../dumps/main/password-rules.zip"
};
static const unsigned char bundle_4[] = {
#embed "../../../dumps/security-state/onecrl.zip"
};

static const struct EmbeddedFirefoxDumps_bundle bundles[] = {
    {"blocklists/addons-bloomfilters", bundle_0, sizeof bundle_0},
    {"main/devtools-devices", bundle_1, sizeof bundle_1},
    {"main/language-dictionaries", bundle_2, sizeof bundle_2},
    {"main/password-rules", bundle_3, sizeof bundle_3},
    {"security-state/onecrl", bundle_4, sizeof bundle_4},
    {0, 0, 0},
};

static const struct EmbeddedFirefoxDumps_index contents = {lock, sizeof lock, bundles, 5};

const struct EmbeddedFirefoxDumps_index *EmbeddedFirefoxDumps_contents(void) { return &contents; }

#endif
