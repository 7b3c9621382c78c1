#ifndef SWIFT_REMOTE_SETTINGS_CLZ4_H
#define SWIFT_REMOTE_SETTINGS_CLZ4_H

#include <lz4.h>

#endif
