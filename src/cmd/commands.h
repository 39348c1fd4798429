/* The table of commands, in the order in which the help lists them. */
#pragma once

#include "cmd/options.h"

extern const struct command *const commands[]; /* NULL-terminated */

const struct command *command_by_name(const char *name);
