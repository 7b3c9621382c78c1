#ifndef SWIFT_REMOTE_SETTINGS_CYAML_H
#define SWIFT_REMOTE_SETTINGS_CYAML_H

#include <yaml.h>

#endif
