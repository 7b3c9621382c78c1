#ifndef SWIFT_REMOTE_SETTINGS_CARCHIVE_H
#define SWIFT_REMOTE_SETTINGS_CARCHIVE_H

#include <archive.h>
#include <archive_entry.h>

#endif
